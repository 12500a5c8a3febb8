"""Single runs of the models that the compiled loops know: ElasticGNN and its special cases."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.kernels import native
from elasticgnn.nn import APPNP, MLP, ElasticGNN, ModelSettings
from elasticgnn.problem import ElasticPenalty
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.elastic_form import as_elastic
from elasticgnn.training.history import History
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population.batch import Batch, Shape
from elasticgnn.training.population.batch_training import BatchTraining
from elasticgnn.training.population.feature_orders import FeatureOrders, stored
from elasticgnn.training.population.run import Run

PREFIX = "backbone."
DENSE_SHARE = 0.25  # of non-zeros, from which on dense products are faster


@dataclass(frozen=True)
class Elastic:
    """A model read as a two-layer perceptron followed by elastic steps."""

    mlp: MLP
    penalty: ElasticPenalty
    steps: int


def read_as_elastic(model: nn.Module) -> Elastic | None:
    """`model` in the form that the compiled loops train, or None if it has none."""
    if type(model) is MLP:
        return checked(elastic_of(model, ModelSettings("mlp")))
    if type(model) is APPNP:
        alpha, steps = float(model.propagation.alpha), int(model.propagation.K)
        return checked(elastic_of(model.backbone, ModelSettings("appnp", steps=steps, alpha=alpha)))
    if type(model) is not ElasticGNN or type(model.backbone) is not MLP:
        return None
    if model.propagation.learnable or model.propagation.dropout > 0:
        return None
    return checked(Elastic(model.backbone, model.penalty, model.K))


def elastic_of(mlp: MLP, settings: ModelSettings) -> Elastic:
    """The perceptron with the elastic steps that `settings` stand for."""
    elastic = as_elastic(settings)
    assert elastic is not None
    return Elastic(mlp, ElasticPenalty(elastic.lambda1, elastic.lambda2), elastic.steps)


def checked(elastic: Elastic) -> Elastic | None:
    """`elastic` if its perceptron has two plain float32 layers on the CPU, all of them trained."""
    mlp = elastic.mlp
    plain = len(mlp.others) == 1 and len(mlp.norms) == 0
    ready = all(
        p.dtype == torch.float32 and p.device.type == "cpu" and p.requires_grad
        for p in mlp.parameters()
    )
    return elastic if plain and ready else None


def can_fuse(model: nn.Module, task: NodeTask) -> bool:
    """Whether `fit_fused` can train `model` on `task` and should."""
    if task.values is not None:  # the loops know cross entropy only
        return False
    if native is None or read_as_elastic(model) is None or task.graph._weight.requires_grad:
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
    elastic = read_as_elastic(model)
    assert elastic is not None
    lambdas = float(elastic.penalty.lambda1), float(elastic.penalty.lambda2)
    rates = plan.learning_rate, plan.weight_decay, elastic.mlp.dropout
    run = Run(split, 0, *rates, *lambdas)
    weights = {PREFIX + name: value for name, value in elastic.mlp.state_dict().items()}
    shape = Shape(task.num_features, elastic.mlp.first.weight.shape[1], task.num_classes)
    batch = Batch(FeatureOrders(stored(task.features)), shape, [run], [weights], [seed])
    alone = BatchTraining(task, [run], batch, elastic.penalty, elastic.steps, plan)
    (history,) = alone.fit(True, None, callback=named(callback))
    assert history.weights is not None
    best = {name.removeprefix(PREFIX): value for name, value in history.weights.items()}
    elastic.mlp.load_state_dict(best)
    return history


def named(callback: Callback | None) -> Callback | None:
    """`callback` for the one run of a batch, called as `fit` calls it."""
    if callback is None:
        return None
    return lambda run, step, values: callback("fit", step, values)
