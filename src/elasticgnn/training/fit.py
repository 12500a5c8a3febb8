"""Training of one model on one split."""

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.training.history import History
from elasticgnn.training.plan import TrainingPlan


def fit(
    model: nn.Module, task: NodeTask, split: Split, plan: TrainingPlan, generator: torch.Generator
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch."""
    raise NotImplementedError
