"""The same settings on several splits, side by side where the model allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.nn import ModelSettings
from elasticgnn.training.fit import fit
from elasticgnn.training.loop.history import History
from elasticgnn.training.make_model import make_model
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population import fit_population
from elasticgnn.training.population.batch_form import batch_form
from elasticgnn.training.population.feature_orders import can_be_stored
from elasticgnn.training.population.run import run_of

Progress = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class Repeated:
    """One history per split; the weights are in them."""

    settings: ModelSettings
    splits: tuple[Split, ...]
    histories: tuple[History, ...]

    @property
    def best(self) -> int:
        """The split whose model did best in validation (the first of equals)."""
        values = [history.val_accuracy for history in self.histories]
        return max(range(len(values)), key=lambda k: -1.0 if math.isnan(values[k]) else values[k])

    def model(self, task: NodeTask, position: int) -> nn.Module:
        """The trained model of one split."""
        model = make_model(self.settings, task, torch.Generator())
        weights = self.histories[position].weights
        assert weights is not None
        model.load_state_dict(weights)
        return model.eval()


def fit_repeatedly(
    task: NodeTask,
    splits: Sequence[Split],
    settings: ModelSettings,
    plan: TrainingPlan,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Repeated:
    """`settings` trained on every split; split k is run with seed + k."""
    form = batch_form(settings)
    if form is None or plan.balanced or not can_be_stored(task.features):
        histories = fit_one_by_one(task, splits, settings, plan, seed, progress)
    else:
        runs = [run_of(form, plan, split, seed + k) for k, split in enumerate(splits)]
        histories = fit_population(task, runs, form, plan, return_weights=True, progress=progress)
        histories = [rename_weights(history, settings) for history in histories]
    return Repeated(settings, tuple(splits), tuple(histories))


def rename_weights(history: History, settings: ModelSettings) -> History:
    """The history with weights under the names of the model asked for."""
    if settings.name != "mlp" or history.weights is None:
        return history
    weights = {name.removeprefix("backbone."): value for name, value in history.weights.items()}
    return replace(history, weights=weights)


def fit_one_by_one(
    task: NodeTask,
    splits: Sequence[Split],
    settings: ModelSettings,
    plan: TrainingPlan,
    seed: int,
    progress: Progress | None,
) -> list[History]:
    """Split after split through `fit`."""
    histories: list[History] = []
    for k, split in enumerate(splits):
        generator = torch.Generator().manual_seed(seed + k)
        model = make_model(settings, task, generator)
        history = fit(model, task, split, plan, generator)
        histories.append(replace(history, weights=model.state_dict()))
        if progress is not None:
            mean = sum(done.val_accuracy for done in histories) / len(histories)
            progress(plan.epochs, mean)
    return histories
