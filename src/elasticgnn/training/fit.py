"""Training of one model on one split."""

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import draw_seed
from elasticgnn.training.fused import can_fuse, fit_fused
from elasticgnn.training.history import History
from elasticgnn.training.loop import fit_by_autograd
from elasticgnn.training.plan import TrainingPlan


def fit(
    model: nn.Module, task: NodeTask, split: Split, plan: TrainingPlan, generator: torch.Generator
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch.

    Dropout is a function of one seed drawn from `generator`. The selected epoch is the first
    with the highest validation accuracy. ElasticGNN, APPNP and MLP with two layers are trained by
    compiled loops, everything else by autograd; the results agree to rounding.
    """
    if len(split.train) == 0:
        raise ValueError("split must have training nodes, got none")
    train = fit_fused if can_fuse(model, task) else fit_by_autograd
    history = train(model, task, split, plan, draw_seed(generator))
    model.eval()
    return history
