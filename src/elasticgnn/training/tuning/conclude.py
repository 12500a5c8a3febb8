"""What a comparison ends in: the winner refitted, calibrated and measured on the holdout."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.training.model.preparation import Preparation
from elasticgnn.training.model.trained_model import TrainedModel, trained_on
from elasticgnn.training.prediction.conformal import conformal_scores, evenly_picked
from elasticgnn.training.tuning.calibration import Calibration, cross_calibrated, fit_calibration
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.entries import gain, leaderboard_entries
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import Division
from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.leaderboard import Leaderboard
from elasticgnn.training.tuning.out_of_fold import OutOfFold, predict_out_of_fold
from elasticgnn.training.tuning.outcome import Outcome


@dataclass(frozen=True)
class Measured:
    """What classes and numbers answer each in their own way."""

    outputs: NDArray[Any]  # of the holdout: calibrated probabilities, or numbers
    scores: list[float]  # conformal, for the saved model
    fitted: dict[str, Any]  # what the saved model has beside its weights
    calibration_error: float | None
    coverage: float
    report: dict[str, Any]


def conclude(
    task: NodeTask,
    preparation: Preparation | None,
    ranked: list[Outcome],
    holdout: Holdout,
    began: float,
    seconds: float,
) -> Leaderboard:
    """The leaderboard of what was measured; `seconds` may be spent on nodes held out."""
    best, evaluation = ranked[0], holdout.evaluation
    held = predict_out_of_fold(holdout, best, seconds)
    measured = (
        measure_classes(task, holdout, held)
        if evaluation.unit is None
        else measure_numbers(holdout, held)
    )
    estimate = holdout.estimate(measured.outputs)
    entries = leaderboard_entries(ranked, holdout, estimate)
    rival = next((o for o in ranked if o.candidate.needs_graph != best.candidate.needs_graph), None)
    winner = refitted(task, preparation, best, holdout, measured)
    board = Leaderboard(
        metric=evaluation.metric,
        entries=entries,
        winner=winner,
        estimate=estimate,
        majority=holdout.majority(task),
        graph_gain=None if rival is None else gain(holdout, best, rival),
        calibration_error=measured.calibration_error,
        coverage=measured.coverage,
        coverage_range=holdout.coverage_range(len(held.of_folds.nodes)),
        report=measured.report,
        seconds=time.perf_counter() - began,
        curves=best.curves,
        folds_left_out=len(holdout.division.folds) - len(best.scores),
    )
    return with_facts(board, task, holdout.division)


def refitted(
    task: NodeTask,
    preparation: Preparation | None,
    best: Outcome,
    holdout: Holdout,
    measured: Measured,
) -> TrainedModel:
    """The best candidate, trained on all nodes that may be and calibrated: what is saved."""
    evaluation, candidate = holdout.evaluation, best.candidate
    model = evaluation.finished(candidate, evaluation.refit(best, holdout.division.refit_nodes))
    facts = {
        "conformal": measured.scores,
        "metric": evaluation.metric,
        "family": candidate.family,
    }
    winner = to_trained(task, preparation, candidate, model, facts)
    return replace(winner, **measured.fitted)


def measure_classes(task: NodeTask, holdout: Holdout, held: OutOfFold) -> Measured:
    """Probabilities calibrated on nodes held out, and sets of classes."""
    by_folds, fold_scores = calibrated(holdout.evaluation, held.of_folds)
    calibration, scores = calibrated(holdout.evaluation, held.calibrating)
    outputs = by_folds.apply(held.of_holdout)
    return Measured(
        outputs,
        scores,
        {"temperature": calibration.temperature, "bias": calibration.bias},
        holdout.calibration_error(outputs),
        holdout.coverage(outputs, fold_scores),
        holdout.report(outputs, task.class_names),
    )


def measure_numbers(holdout: Holdout, held: OutOfFold) -> Measured:
    """Numbers, and intervals from the errors on nodes held out."""
    evaluation, outputs = holdout.evaluation, held.of_holdout
    return Measured(
        outputs,
        errors_of(evaluation, held.calibrating),
        {"unit": evaluation.unit},
        None,
        holdout.interval_coverage(outputs, errors_of(evaluation, held.of_folds)),
        holdout.number_report(outputs),
    )


def calibrated(evaluation: Evaluation, held: OutOfFold) -> tuple[Calibration, list[float]]:
    """The calibration of nodes held out, and conformal scores of each by that of the others."""
    labels = evaluation.truth(torch.from_numpy(held.nodes))
    fair = cross_calibrated(labels, held.outputs, held.group)
    return fit_calibration(labels, held.outputs), conformal_scores(labels, fair)


def errors_of(evaluation: Evaluation, held: OutOfFold) -> list[float]:
    """How far the numbers of nodes held out were from what was predicted, ascending."""
    truth = evaluation.truth(torch.from_numpy(held.nodes))
    return evenly_picked(np.abs(truth - held.outputs[:, 0]))


def with_facts(board: Leaderboard, task: NodeTask, division: Division) -> Leaderboard:
    """The board whose winner's file has it, and the nodes that were trained on."""
    facts = {**board.winner.facts, "leaderboard": board.to_json(), **trained_nodes(task, division)}
    return replace(board, winner=replace(board.winner, facts=facts))


def trained_nodes(task: NodeTask, division: Division) -> dict[str, Any]:
    """The nodes trained on, and those of the test: by their ids where they have any."""
    away = set(task.labelled.tolist()) - set(division.refit_nodes.tolist())
    ids = task.node_ids
    split: dict[str, list[Any]] = {
        name: nodes if ids is None else [ids[node] for node in nodes]
        for name, nodes in (
            ("train", division.refit_nodes.tolist()),
            ("val", []),
            ("test", sorted(away)),
        )
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
