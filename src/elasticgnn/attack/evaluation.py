"""How models are split, trained and judged where attacks are measured."""

from __future__ import annotations

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split, share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model
from elasticgnn.training.repeats.repeat import Repeated, fit_repeatedly

PLAN = TrainingPlan(epochs=200, ties="first")


def fixed_or_drawn(task: NodeTask, generator: torch.Generator) -> Split:
    """The task's own split when it has a fixed one, else 10/10/80, usual where attacks are."""
    if task.split is not None and task.split_rule == "fixed":
        return task.split
    return share_split(task.labels, generator)


def trained_victim(
    settings: ModelSettings, task: NodeTask, split: Split, generator: torch.Generator
) -> nn.Module:
    """A model of these settings, trained on the clean graph."""
    model = make_model(settings, task, generator)
    fit(model, task, split, PLAN, generator)
    return model


def train_models(
    settings: ModelSettings | str, task: NodeTask, seeds: int, plan: TrainingPlan = PLAN
) -> Repeated:
    """The model trained with `seeds` seeds on the task's fixed split, or one split per seed."""
    if isinstance(settings, str):
        settings = ModelSettings(settings)
    draws = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
    splits = [fixed_or_drawn(task, draw) for draw in draws]
    return fit_repeatedly(task, splits, settings, plan)


def accuracy_of(settings: ModelSettings | str, task: NodeTask, seeds: int = 5) -> float:
    """Mean test accuracy over `seeds` trainings."""
    histories = train_models(settings, task, seeds).histories
    return sum(history.test_accuracy for history in histories) / len(histories)
