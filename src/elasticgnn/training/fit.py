"""Training of one model on one split."""

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import draw_seed
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.history import History
from elasticgnn.training.loop import fit_by_autograd
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
    autograd; the results agree to rounding. `callback` is told the numbers of each epoch
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
