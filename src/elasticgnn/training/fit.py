"""Training of one model on one split."""

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import draw_seed
from elasticgnn.training.history import History
from elasticgnn.training.loop import fit_by_autograd
from elasticgnn.training.plan import TrainingPlan


def fit(
    model: nn.Module, task: NodeTask, split: Split, plan: TrainingPlan, generator: torch.Generator
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch.

    Dropout is a function of one seed drawn from `generator`. The selected epoch is the first
    with the highest validation accuracy.
    """
    if len(split.train) == 0:
        raise ValueError("split must have training nodes, got none")
    return fit_by_autograd(model, task, split, plan, draw_seed(generator))
