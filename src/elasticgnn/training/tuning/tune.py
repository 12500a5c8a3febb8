"""`tune`: the best of many models for a task, refitted, with an honest estimate."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elasticgnn.data import NodeTask
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.training.preparation import Preparation, fit_preparation
from elasticgnn.training.trained_model import TrainedModel, trained_on
from elasticgnn.training.tuning.bagging import worthwhile_ensemble
from elasticgnn.training.tuning.calibration import (
    Calibration,
    conformal_scores,
    cross_calibrated,
    fit_calibration,
    kept_scores,
)
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.entries import gain, leaderboard_entries
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import RANDOM, Division, divide
from elasticgnn.training.tuning.held_out import HeldOut, hold_out
from elasticgnn.training.tuning.judge import Judges
from elasticgnn.training.tuning.leaderboard import Leaderboard
from elasticgnn.training.tuning.metrics import Metric, choose_metric, choose_number_metric
from elasticgnn.training.tuning.outcome import Outcome
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
    kept_in: Path | None = None,
) -> Leaderboard:
    """The best model for the known nodes of `task`, and what it is worth on nodes kept away.

    One known node in five judges; the others choose family and settings by cross-validation.
    The winner is refitted on all known nodes for as long as the folds selected; its calibration
    comes from further refits, each without the nodes it is asked about, which may take half of
    `minutes` on top. How many settings are tried depends on the time, the split does not.
    A task with `values` is a regression. splitting: by a column, groups or time instead of at
    random; balanced: every class weighs the same in training, however rare. kept_in: a file that
    holds what was measured, from which an interrupted comparison goes on; removed in the end. A
    refit takes at most as long as `minutes`, or one minute. Where the mean of four networks that
    differ in seed held out better than one, and half of `minutes` is enough to train them, the
    winner is their ensemble.

    >>> board = tune(task, minutes=3.0)  # doctest: +SKIP
    >>> print(board.winner.settings.name, board.estimate)  # doctest: +SKIP
    """
    if not 0 < minutes < math.inf:
        raise ValueError(f"minutes must be a finite number > 0, got {minutes}")
    began, rng = time.perf_counter(), np.random.default_rng(seed)
    division = divide(task, rng, splitting)
    chosen = metric_of(task, metric)
    preparation = None if task.made_features else fit_preparation(task.features)
    unit = unit_of(task)
    ready = in_deviations(task if preparation is None else preparation.apply(task), unit)
    key = f"{task.fingerprint} {chosen} {seed} {splitting} {balanced} {division.digest}"
    known = None if kept_in is None else OutcomeFile(kept_in, key)
    limit = max(60 * minutes, 60.0)
    evaluation = Evaluation(ready, chosen, seed, unit, known=known, refit_seconds=limit)
    outcomes = search(evaluation, division, 60 * minutes, rng, progress, balanced=balanced)
    # what was measured on all folds goes before what was not
    ranked = sorted(outcomes, key=lambda o: (len(o.scores), o.mean), reverse=True)
    together = worthwhile_ensemble(evaluation, ranked[0], division.folds, 30 * minutes)
    ranked = ranked if together is None else [together, *ranked[1:]]
    left = 60 * minutes - (time.perf_counter() - began)
    judges = Judges(evaluation, division, left / 2, rng)
    board = conclude(task, preparation, ranked, judges, began, max(left / 4, 30 * minutes))
    if kept_in is not None:
        kept_in.unlink(missing_ok=True)
    return board


def metric_of(task: NodeTask, name: str) -> Metric:
    """The metric called `name`, or the one that fits the task."""
    if task.values is not None:
        return choose_number_metric(name)
    return choose_metric(name, task.labels[task.labelled].numpy())


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


def conclude(
    task: NodeTask,
    preparation: Preparation | None,
    ranked: list[Outcome],
    judges: Judges,
    began: float,
    seconds: float,
) -> Leaderboard:
    """The leaderboard of what was measured."""
    best, evaluation = ranked[0], judges.evaluation
    if evaluation.unit is not None:
        return conclude_numbers(task, preparation, ranked, judges, began, seconds)
    held = hold_out(judges, best, seconds)
    by_choosers, chooser_scores = calibrated(evaluation, held.of_choosers)
    calibration, scores = calibrated(evaluation, held.calibrating)
    said = by_choosers.apply(held.judged)
    estimate = judges.estimate(said)
    entries = leaderboard_entries(ranked, judges, estimate)
    rival = next((o for o in ranked if o.candidate.needs_graph != best.candidate.needs_graph), None)
    model = evaluation.finished(best.candidate, evaluation.refit(best, judges.division.kept))
    facts = {"conformal": scores, "metric": evaluation.metric, "family": best.candidate.family}
    winner = to_trained(task, preparation, best.candidate, model, facts)
    board = Leaderboard(
        metric=evaluation.metric,
        entries=entries,
        winner=replace(winner, temperature=calibration.temperature, bias=calibration.bias),
        estimate=estimate,
        majority=judges.majority(task),
        graph_gain=None if rival is None else gain(judges, best, rival),
        calibration_error=judges.calibration_error(said),
        coverage=judges.coverage(said, chooser_scores),
        coverage_range=judges.coverage_range(len(held.of_choosers.nodes)),
        report=judges.report(said, task.class_names),
        seconds=time.perf_counter() - began,
        curves=best.curves,
    )
    return with_facts(board, task, judges.division)


def calibrated(evaluation: Evaluation, held: HeldOut) -> tuple[Calibration, list[float]]:
    """The calibration of nodes held out, and conformal scores of each by that of the others."""
    labels = evaluation.truth(torch.from_numpy(held.nodes))
    fair = cross_calibrated(labels, held.said, held.group)
    return fit_calibration(labels, held.said), conformal_scores(labels, fair)


def errors_of(evaluation: Evaluation, held: HeldOut) -> list[float]:
    """How far the numbers of nodes held out were from what was said of them, ascending."""
    truth = evaluation.truth(torch.from_numpy(held.nodes))
    return kept_scores(np.abs(truth - held.said[:, 0]))


def conclude_numbers(
    task: NodeTask,
    preparation: Preparation | None,
    ranked: list[Outcome],
    judges: Judges,
    began: float,
    seconds: float,
) -> Leaderboard:
    """The leaderboard of a regression: intervals come from the errors on nodes held out."""
    best, evaluation = ranked[0], judges.evaluation
    held = hold_out(judges, best, seconds)
    scores, said = errors_of(evaluation, held.calibrating), held.judged
    estimate = judges.estimate(said)
    entries = leaderboard_entries(ranked, judges, estimate)
    rival = next((o for o in ranked if o.candidate.needs_graph != best.candidate.needs_graph), None)
    model = evaluation.finished(best.candidate, evaluation.refit(best, judges.division.kept))
    facts = {"conformal": scores, "metric": evaluation.metric, "family": best.candidate.family}
    winner = to_trained(task, preparation, best.candidate, model, facts)
    board = Leaderboard(
        metric=evaluation.metric,
        entries=entries,
        winner=replace(winner, unit=evaluation.unit),
        estimate=estimate,
        majority=judges.majority(task),
        graph_gain=None if rival is None else gain(judges, best, rival),
        calibration_error=None,
        coverage=judges.interval_coverage(said, errors_of(evaluation, held.of_choosers)),
        coverage_range=judges.coverage_range(len(held.of_choosers.nodes)),
        report=judges.number_report(said),
        seconds=time.perf_counter() - began,
        curves=best.curves,
    )
    return with_facts(board, task, judges.division)


def with_facts(board: Leaderboard, task: NodeTask, division: Division) -> Leaderboard:
    """The board whose winner keeps it, and the nodes it was trained on."""
    kept = {"leaderboard": board.to_json(), **trained_nodes(task, division)}
    return replace(board, winner=replace(board.winner, facts={**board.winner.facts, **kept}))


def trained_nodes(task: NodeTask, division: Division) -> dict[str, Any]:
    """The nodes trained on, and those kept for a test: by their ids where they have any."""
    away = set(task.labelled.tolist()) - set(division.kept.tolist())
    ids = task.node_ids
    split: dict[str, list[Any]] = {
        name: nodes if ids is None else [ids[node] for node in nodes]
        for name, nodes in (("train", division.kept.tolist()), ("val", []), ("test", sorted(away)))
    }
    return {"split": split, "split_by_id": ids is not None}


def to_trained(
    task: NodeTask,
    preparation: Preparation | None,
    candidate: Candidate,
    model: torch.nn.Module,
    facts: dict[str, Any],
) -> TrainedModel:
    """The winner with all that its file must say."""
    if candidate.by_id:
        features = structural_features(task.graph)
        task = replace(task, features=features, feature_names=None, made_features=True)
    trained = trained_on(task, model, candidate.settings, facts)
    return trained if candidate.by_id else replace(trained, preparation=preparation)
