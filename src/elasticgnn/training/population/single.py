"""Single runs of the models that the compiled loops know: ElasticGNN and its kin, and GCN."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.kernels import native
from elasticgnn.nn import APPNP, GCN, MLP, ElasticGNN, ModelSettings
from elasticgnn.problem import ElasticPenalty
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.loop.history import History
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population.batch import (
    ELASTIC_NAMES,
    GCN_NAMES,
    PREFIX,
    Batch,
    Shape,
    normalized_matrix,
)
from elasticgnn.training.population.batch_form import batch_form
from elasticgnn.training.population.batch_training import BatchTraining
from elasticgnn.training.population.feature_orders import FeatureOrders, stored
from elasticgnn.training.population.run import Run

DENSE_SHARE = 0.25  # of non-zeros, from which on dense products are faster


@dataclass(frozen=True)
class Fusable:
    """A model read as what the compiled loops train: a two-layer network, then elastic steps.

    `layers` is the module whose weights are trained, `prefix` what their names lack of those in
    the loops; a GCN takes no steps.
    """

    layers: MLP | GCN
    prefix: str
    penalty: ElasticPenalty
    steps: int

    @property
    def shape(self) -> Shape:
        """The sizes of the layers, and what their weights are called."""
        names = GCN_NAMES if isinstance(self.layers, GCN) else ELASTIC_NAMES
        weights = [self.layers.get_parameter(name.removeprefix(self.prefix)) for name in names]
        features, hidden = weights[0].shape
        return Shape(features, hidden, len(weights[2]), names)


def read_as_fusable(model: nn.Module) -> Fusable | None:
    """`model` in the form that the compiled loops train, or None if it has none."""
    if type(model) is MLP:
        return checked(fusable(model, ModelSettings("mlp")))
    if type(model) is GCN:
        return checked(fusable(model, ModelSettings("gcn"), prefix=""))
    if type(model) is APPNP:
        alpha, steps = float(model.propagation.alpha), int(model.propagation.K)
        return checked(fusable(model.backbone, ModelSettings("appnp", steps=steps, alpha=alpha)))
    if type(model) is not ElasticGNN or type(model.backbone) is not MLP:
        return None
    if model.propagation.learnable or model.propagation.dropout > 0:
        return None
    return checked(Fusable(model.backbone, PREFIX, model.penalty, model.K))


def fusable(layers: MLP | GCN, settings: ModelSettings, prefix: str = PREFIX) -> Fusable:
    """The layers with the elastic steps that `settings` stand for."""
    form = batch_form(settings)
    assert form is not None
    return Fusable(layers, prefix, ElasticPenalty(form.lambda1, form.lambda2), form.steps)


def checked(model: Fusable) -> Fusable | None:
    """`model` if it has two plain float32 layers on the CPU, all of them trained."""
    layers = model.layers
    plain = isinstance(layers, GCN) or (len(layers.others) == 1 and len(layers.norms) == 0)
    ready = all(
        p.dtype == torch.float32 and p.device.type == "cpu" and p.requires_grad
        for p in layers.parameters()
    )
    return model if plain and ready else None


def can_fuse(model: nn.Module, task: NodeTask) -> bool:
    """Whether `fit_fused` can train `model` on `task` and should."""
    if task.values is not None:  # the loops know cross entropy only
        return False
    if native is None or read_as_fusable(model) is None or task.graph._weight.requires_grad:
        return False
    if isinstance(task.features, Tensor):
        share = float((task.features != 0).double().mean()) if task.features.numel() else 0.0
        return task.features.dtype == torch.float32 and share <= DENSE_SHARE
    return task.features.dtype == torch.float32


def fit_fused(
    model: nn.Module,
    task: NodeTask,
    split: Split,
    plan: TrainingPlan,
    seed: int,
    callback: Callback | None = None,
) -> History:
    """What `fit_by_autograd` gives, to rounding: a population of one."""
    fused = read_as_fusable(model)
    assert fused is not None
    layers = fused.layers
    lambdas = float(fused.penalty.lambda1), float(fused.penalty.lambda2)
    run = Run(split, 0, plan.learning_rate, plan.weight_decay, layers.dropout, *lambdas)
    weights = {fused.prefix + name: value for name, value in layers.state_dict().items()}
    orders = FeatureOrders(stored(task.features))
    matrix = normalized_matrix(task.graph) if isinstance(layers, GCN) else None
    batch = Batch(orders, fused.shape, [run], [weights], [seed], matrix)
    alone = BatchTraining(task, [run], batch, fused.penalty, fused.steps, plan)
    (history,) = alone.fit(True, None, callback=named(callback))
    assert history.weights is not None
    best = {name.removeprefix(fused.prefix): value for name, value in history.weights.items()}
    layers.load_state_dict(best)
    return history


def named(callback: Callback | None) -> Callback | None:
    """`callback` for the one run of a batch, called as `fit` calls it."""
    if callback is None:
        return None
    return lambda run, step, values: callback("fit", step, values)
