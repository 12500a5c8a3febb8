"""What training minimises: cross entropy of classes, squared or Huber loss of numbers."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, huber_loss, mse_loss

from elasticgnn.data import NodeTask
from elasticgnn.training.plan import TrainingPlan

Objective = Callable[[Tensor, Tensor], Tensor]


def training_loss(task: NodeTask, train: Tensor, plan: TrainingPlan) -> Objective:
    """A function of (outputs, nodes): the mean loss of the nodes' rows."""
    if task.values is not None:
        truth = task.values.float()
        each = huber_loss if plan.loss == "huber" else mse_loss
        return lambda outputs, nodes: each(outputs[nodes, 0], truth[nodes])
    weight = class_weights(task, train) if plan.balanced else None
    return lambda outputs, nodes: cross_entropy(outputs[nodes], task.labels[nodes], weight)


def class_weights(task: NodeTask, train: Tensor) -> Tensor:
    """n / (classes * nodes of the class) for each class, 0 where it has no node."""
    count = torch.bincount(task.labels[train], minlength=task.num_classes).float()
    present = int((count > 0).sum())
    return torch.where(count > 0, len(train) / (present * count.clamp(min=1)), 0.0)


def quality(task: NodeTask) -> Objective:
    """A function of (outputs, nodes): accuracy, or R^2 of numbers; nan when there are none."""
    if task.values is None:
        labels = task.labels
        return lambda outputs, nodes: (outputs[nodes].argmax(1) == labels[nodes]).double().mean()
    truth = task.values
    return lambda outputs, nodes: r_squared(outputs[nodes, 0].double(), truth[nodes])


def r_squared(predicted: Tensor, truth: Tensor) -> Tensor:
    """1 - squared error / variance; nan for fewer than two different numbers."""
    spread = (truth - truth.mean()).square().sum()
    left = (truth - predicted).square().sum()
    return torch.where(spread > 0, 1 - left / spread, torch.nan)
