"""Accuracy of models on clean and attacked graphs."""

from __future__ import annotations

import torch

from elasticgnn.data import NodeTask, Split, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan
from elasticgnn.training.repeats.repeat import Repeated, fit_repeatedly

PLAN = TrainingPlan(epochs=200, ties="first")


def fixed_or_drawn(task: NodeTask, seed: int) -> Split:
    """The task's own split when it has a fixed one, else 10/10/80 drawn from `seed`."""
    if task.split is not None and task.split_rule == "fixed":
        return task.split
    return share_split(task.labels, torch.Generator().manual_seed(seed))


def train_models(
    settings: ModelSettings | str, task: NodeTask, seeds: int, plan: TrainingPlan = PLAN
) -> Repeated:
    """The model trained with `seeds` seeds on the task's fixed split, or one split per seed."""
    if isinstance(settings, str):
        settings = ModelSettings(settings)
    splits = [fixed_or_drawn(task, seed) for seed in range(seeds)]
    return fit_repeatedly(task, splits, settings, plan)


def accuracy_of(settings: ModelSettings | str, task: NodeTask, seeds: int = 5) -> float:
    """Mean test accuracy over `seeds` trainings."""
    histories = train_models(settings, task, seeds).histories
    return sum(history.test_accuracy for history in histories) / len(histories)
