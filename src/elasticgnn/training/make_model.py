"""A freshly initialised model that fits a task."""

import torch
from torch import nn

from elasticgnn.data import NodeTask
from elasticgnn.nn import ModelSettings, build_model


def make_model(
    settings: ModelSettings | str, task: NodeTask, generator: torch.Generator
) -> nn.Module:
    """The model of `settings` (a name: its default settings), weights drawn from `generator`.

    >>> type(make_model("appnp", task, generator)).__name__
    'APPNP'
    """
    if isinstance(settings, str):
        settings = ModelSettings(settings)
    return build_model(settings, task.num_features, task.num_outputs, generator)
