"""Training of one model on one split."""

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import draw_seed
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.loop.autograd import fit_by_autograd
from elasticgnn.training.loop.field import FieldInputs, ModelOnField, has_field
from elasticgnn.training.loop.history import History
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population.single import can_fuse, fit_fused


def fit(
    model: nn.Module,
    task: NodeTask,
    split: Split,
    plan: TrainingPlan,
    generator: torch.Generator,
    *,
    callback: Callback | None = None,
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch.

    Dropout is a function of one seed drawn from `generator`. The selected epoch has the
    highest validation accuracy and, of these, the lowest validation loss (`plan.ties`). GCN, and
    ElasticGNN, APPNP and MLP with two layers, are trained by compiled loops, everything else by
    autograd; the results agree to rounding. `callback` gets the numbers of each epoch
    (tracking).

    >>> model = make_model("gcn", task, generator)
    >>> fit(model, task, split, TrainingPlan(epochs=5), generator).epochs
    5
    """
    if len(split.train) == 0:
        raise ValueError("split must have training nodes, got none")
    fused = can_fuse(model, task) and not plan.balanced
    train = fit_fused if fused else fit_by_autograd
    history = train(model, task, split, plan, draw_seed(generator), callback)
    model.eval()
    return history


def fit_lean(
    model: nn.Module,
    inputs: FieldInputs,
    split: Split,
    plan: TrainingPlan,
    generator: torch.Generator,
) -> History:
    """What `fit` gives, to rounding; test nodes are measured in the epochs that are chosen only.

    Convolutions are computed for the rows that training and validation nodes see; the test curve
    is nan where nothing was measured.
    """
    if not has_field(model, inputs.task, split) or plan.balanced:
        return fit(model, inputs.task, split, plan, generator)
    subject = ModelOnField(model, inputs, split)
    seed = draw_seed(generator)
    history = fit_by_autograd(model, inputs.task, split, plan, seed, subject=subject)
    model.eval()
    return history
