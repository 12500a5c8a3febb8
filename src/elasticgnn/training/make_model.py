"""A freshly initialised model that fits a task."""

import torch
from torch import nn

from elasticgnn.data import NodeTask
from elasticgnn.nn.settings import ModelSettings


def make_model(
    settings: ModelSettings | str, task: NodeTask, generator: torch.Generator
) -> nn.Module:
    """The model of `settings` with the task's sizes and weights drawn from `generator`."""
    raise NotImplementedError
