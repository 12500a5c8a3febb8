"""The holdout: refitted candidates measured on nodes no choice has seen."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.extras import optional_imports
from elasticgnn.files import significant
from elasticgnn.training.prediction.conformal import chance_range, conformal_sets, threshold
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import Division
from elasticgnn.training.tuning.leaderboard import Estimate
from elasticgnn.training.tuning.metrics import (
    SHARES,
    calibration_error,
    interval,
    reliability,
    score,
    score_gap,
)
from elasticgnn.training.tuning.outcome import Outcome

Array = NDArray[Any]
COVERAGE = 0.9
DRAWS = 300
PAIRS = 500  # of a regression, kept for its page


class Holdout:
    """Measures on the holdout, of candidates refitted on all the others.

    The winner and its best rival are always refitted, the other families while `seconds` last.
    """

    def __init__(
        self, evaluation: Evaluation, division: Division, seconds: float, rng: np.random.Generator
    ) -> None:
        self.evaluation, self.division, self.seconds, self.rng = evaluation, division, seconds, rng
        self.labels: Array = evaluation.truth(division.holdout)
        self.began = time.perf_counter()
        self._outputs: dict[int, Array] = {}

    @property
    def has_time(self) -> bool:
        """Whether the time allowed is not over."""
        return time.perf_counter() - self.began < self.seconds

    def outputs_of(self, outcome: Outcome) -> Array:
        """Class probabilities that the refitted candidate gives the nodes of the holdout."""
        key = id(outcome)
        if key not in self._outputs:
            model = self.evaluation.refit(outcome, self.division.development)
            holdout = self.division.holdout
            self._outputs[key] = self.evaluation.probability(outcome.candidate, model, holdout)
        return self._outputs[key]

    def estimate(self, outputs: Array) -> Estimate:
        """The score of probabilities with its interval."""
        metric = self.evaluation.metric
        low, high = interval(metric, self.labels, outputs, self.rng)
        return Estimate(score(metric, self.labels, outputs), low, high, len(self.labels))

    def difference(self, one: Array, other: Array) -> Estimate:
        """The metric of `one` less that of `other`, with a paired bootstrap interval."""
        metric, count = self.evaluation.metric, len(self.labels)

        def gap(nodes: Array) -> float:
            return score_gap(metric, self.labels[nodes], one[nodes], other[nodes])

        draws = [gap(self.rng.integers(0, count, count)) for _ in range(DRAWS)]
        low, high = np.nanpercentile(draws, [2.5, 97.5])
        return Estimate(gap(np.arange(count)), float(low), float(high), count)

    def majority(self, task: NodeTask) -> float:
        """The metric of always giving the class shares (or the mean) of the other nodes."""
        if self.evaluation.unit is not None:
            mean = self.evaluation.truth(self.division.development).mean()
            return score(self.evaluation.metric, self.labels, np.full((len(self.labels), 1), mean))
        counts = torch.bincount(task.labels[self.division.development], minlength=task.num_classes)
        shares = (counts / counts.sum()).double().numpy()
        same = np.tile(shares, (len(self.labels), 1))
        return score(self.evaluation.metric, self.labels, same)

    def calibration_error(self, outputs: Array) -> float:
        """Expected calibration error of probabilities."""
        return calibration_error(self.labels, outputs)

    def coverage(self, outputs: Array, scores: list[float]) -> float:
        """The share of the holdout whose class is in their set for 90 %."""
        inside = conformal_sets(outputs, scores, COVERAGE)
        return float(inside[np.arange(len(self.labels)), self.labels].mean())

    def coverage_range(self, calibrating: int) -> tuple[float, float]:
        """Where chance alone lets the coverage for 90 % lie."""
        return chance_range(COVERAGE, calibrating, len(self.labels))

    def number_report(self, outputs: Array) -> dict[str, Any]:
        """R^2, mean absolute and root mean squared error, the largest error, and at most PAIRS
        pairs of what was predicted and what is true."""
        errors = np.abs(self.labels - outputs[:, 0])
        shown = np.stack([outputs[:, 0], self.labels], 1)[:: -(-len(errors) // PAIRS)].tolist()
        spread = float(self.labels.std())
        return {
            "r2": score("r2", self.labels, outputs),
            "mae": -score("mae", self.labels, outputs),
            "rmse": -score("rmse", self.labels, outputs),
            "largest_error": float(errors.max()),
            "pairs": [[float(significant(value, 5, spread)) for value in pair] for pair in shown],
        }

    def interval_coverage(self, outputs: Array, scores: list[float]) -> float:
        """The share of the holdout whose number is in its interval for 90 %."""
        return float((np.abs(self.labels - outputs[:, 0]) <= threshold(scores, COVERAGE)).mean())

    def report(self, outputs: Array, names: tuple[str, ...]) -> dict[str, Any]:
        """Accuracy, AUC, log loss, confusion, reliability; precision, recall, F1 per class."""
        return {**measures(self.labels, outputs), **class_report(self.labels, outputs, names)}


def measures(labels: Array, outputs: Array) -> dict[str, float]:
    """Accuracy, balanced accuracy, AUC, macro F1 and log loss of class probabilities."""
    found = {str(name): score(name, labels, outputs) for name in SHARES}
    return {**found, "log_loss": -score("logloss", labels, outputs)}


def class_report(labels: Array, outputs: Array, names: tuple[str, ...]) -> dict[str, Any]:
    """Precision, recall, F1 and nodes per class, the confusion matrix, and the reliability."""
    with optional_imports():
        from sklearn import metrics
    guess, classes = outputs.argmax(1), list(range(len(names)))
    parts = metrics.precision_recall_fscore_support(labels, guess, labels=classes, zero_division=0)
    rows = zip(names, *(part.tolist() for part in parts), strict=True)
    keys = ("class", "precision", "recall", "f1", "nodes")
    return {
        "classes": [dict(zip(keys, row, strict=True)) for row in rows],
        "confusion": metrics.confusion_matrix(labels, guess, labels=classes).tolist(),
        "reliability": reliability(labels, outputs),
    }
