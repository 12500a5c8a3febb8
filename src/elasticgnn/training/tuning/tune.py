"""`tune`: the best of many models for a task, refitted, with an honest estimate."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elasticgnn.data import NodeTask
from elasticgnn.training.model.preparation import fit_preparation
from elasticgnn.training.tuning.bagging import worthwhile_ensemble
from elasticgnn.training.tuning.conclude import conclude
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import RANDOM, Division, divide, varies
from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.leaderboard import Leaderboard
from elasticgnn.training.tuning.metrics import INSTEAD, Metric, choose_metric, choose_number_metric
from elasticgnn.training.tuning.outcome_file import OutcomeFile
from elasticgnn.training.tuning.search import Progress, search
from elasticgnn.training.tuning.splitting import Splitting


def tune(
    task: NodeTask,
    *,
    minutes: float = 3.0,
    metric: str = "auto",
    seed: int = 0,
    splitting: Splitting = RANDOM,
    balanced: bool = False,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
) -> Leaderboard:
    """The best model for the known nodes of `task`, and what it is worth on held-out nodes.

    One known node in five is held out; the others choose family and settings by cross-validation.
    The winner is refitted on all known nodes for as long as the folds selected; its calibration
    comes from further refits, each without the nodes it is asked about, which may take half of
    `minutes` on top. How many settings are tried depends on the time, the split does not.
    A task with `values` is a regression. splitting: by a column, groups or time instead of at
    random; balanced: every class weighs the same in training, however rare. checkpoint: a file
    with what was measured, from which an interrupted comparison goes on; removed in the end. A
    refit takes at most as long as `minutes`, or one minute. Where the mean of four networks that
    differ in seed held out better than one, and half of `minutes` is enough to train them, the
    winner is their ensemble.

    >>> board = tune(task, minutes=3.0)  # doctest: +SKIP
    >>> print(board.winner.settings.name, board.estimate)  # doctest: +SKIP
    """
    if not 0 < minutes < math.inf:
        raise ValueError(f"minutes must be a finite number > 0, got {minutes}")
    began = time.perf_counter()
    plan = planned(task, metric, seed, splitting, balanced=balanced)
    division, chosen = plan.division, plan.metric
    preparation = None if task.made_features else fit_preparation(task.features)
    unit = unit_of(task)
    ready = in_deviations(task if preparation is None else preparation.apply(task), unit)
    known = None if checkpoint is None else OutcomeFile(checkpoint, plan.key)
    limit = max(60 * minutes, 60.0)
    evaluation = Evaluation(ready, chosen, seed, unit, known=known, refit_seconds=limit)
    outcomes = search(evaluation, division, 60 * minutes, plan.rng, progress, balanced=balanced)
    # what was measured on all folds goes before what was not
    ranked = sorted(outcomes, key=lambda o: (len(o.scores), o.mean), reverse=True)
    used = division.folds[: len(ranked[0].scores)]
    together = worthwhile_ensemble(evaluation, ranked[0], used, 30 * minutes)
    ranked = ranked if together is None else [together, *ranked[1:]]
    left = 60 * minutes - (time.perf_counter() - began)
    # draws that do not depend on how much was proposed, here or before an interruption
    holdout = Holdout(evaluation, division, left / 2, np.random.default_rng(seed))
    board = conclude(task, preparation, ranked, holdout, began, max(left / 4, 30 * minutes))
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return board


@dataclass(frozen=True, eq=False)
class Comparison:
    """What is fixed before anything is measured.

    rng: as the draws of the division leave it; key: names data, metric, seed and splits, for the
    file that an interrupted comparison leaves behind.
    """

    division: Division
    metric: Metric
    rng: np.random.Generator
    key: str


def planned(
    task: NodeTask, metric: str, seed: int, splitting: Splitting, *, balanced: bool
) -> Comparison:
    """The comparison that `tune` makes with these arguments."""
    rng = np.random.default_rng(seed)
    division = divide(task, rng, splitting)
    chosen = defined_metric(task, metric, division)
    key = f"{task.fingerprint} {chosen} {seed} {splitting} {balanced} {division.digest}"
    return Comparison(division, chosen, rng, key)


def metric_of(task: NodeTask, name: str) -> Metric:
    """The metric called `name`, or the one that fits the task."""
    if task.values is not None:
        return choose_number_metric(name)
    return choose_metric(name, task.labels[task.labelled].numpy())


def defined_metric(task: NodeTask, name: str, division: Division) -> Metric:
    """The metric called `name`; auto chooses another where one class alone is held out."""
    metric = metric_of(task, name)
    seen = (division.holdout, division.folds[0].val)
    if metric not in INSTEAD or all(varies(task, nodes) for nodes in seen):
        return metric
    other = INSTEAD[metric]
    if name == "auto":
        return other
    kind = "class" if task.values is None else "number"
    raise ValueError(
        f"metric {metric} must have nodes of more than one {kind} to be measured on, "
        f"got one {kind} (--metric {other} can do with it)"
    )


def unit_of(task: NodeTask) -> tuple[float, float] | None:
    """Mean and deviation of the numbers to predict, None for classes."""
    if task.values is None:
        return None
    known = task.values[task.labelled]
    return float(known.mean()), float(known.std(correction=0)) or 1.0


def in_deviations(task: NodeTask, unit: tuple[float, float] | None) -> NodeTask:
    """The task with numbers to predict of mean 0 and deviation 1."""
    if unit is None or task.values is None:
        return task
    return replace(task, values=(task.values - unit[0]) / unit[1])
