"""True probabilities and sets that hold the class: temperature and split conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.training.prediction.predict import LEAST

Array = NDArray[Any]
MOST_ROWS = 20_000  # nodes that a calibration looks at
MOST_SCORES = 1000  # conformal scores that a model file holds


def fit_temperature(labels: Array, probability: Array) -> float:
    """The temperature whose probabilities have the smallest log loss of a fine grid."""
    logits = np.log(np.clip(probability, LEAST, 1))
    temperatures = np.geomspace(0.2, 5.0, 65)
    losses = [log_loss(labels, logits / temperature) for temperature in temperatures]
    return float(temperatures[int(np.argmin(losses))])


@dataclass(frozen=True)
class Calibration:
    """True probabilities are softmax(logits / temperature + bias), bias one number per class."""

    temperature: float = 1.0
    bias: tuple[float, ...] = ()

    def apply(self, probability: Array) -> Array:
        """Calibrated probabilities (n, classes)."""
        return cooled(probability, self.temperature, self.bias)


def fit_calibration(labels: Array, probability: Array) -> Calibration:
    """The temperature and biases of the smallest log loss on nodes that were not trained on.

    A temperature alone cannot mend classes that are predicted too often or too rarely. The biases
    have a normal prior of width 1, which decides where a class has few nodes. Of very many nodes
    some are enough.
    """
    from scipy.optimize import minimize

    some = np.linspace(0, len(labels) - 1, min(len(labels), MOST_ROWS)).astype(int)
    labels, probability = labels[some], probability[some]
    logits = np.log(np.clip(probability, LEAST, 1))
    count, classes = logits.shape
    truth = np.eye(classes)[labels]

    def loss(point: Array) -> tuple[float, Array]:
        cold, bias = np.exp(-point[0]), point[1:]
        predicted = cooled(probability, float(1 / cold), tuple(bias))
        wrong = (predicted - truth) / count
        value = log_loss(labels, logits * cold + bias) + (bias @ bias) / (2 * count)
        slope = -(wrong * logits).sum() * cold
        return value, np.concatenate([[slope], wrong.sum(0) + bias / count])

    start = np.zeros(classes + 1)
    start[0] = math.log(fit_temperature(labels, probability))
    limits = [(math.log(0.1), math.log(10.0)), *[(-5.0, 5.0)] * classes]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits).x
    return Calibration(float(np.exp(best[0])), tuple(float(b) for b in best[1:]))


def cross_calibrated(labels: Array, probability: Array, group: Array) -> Array:
    """The probabilities of each group calibrated by the nodes of the other groups."""
    groups = np.unique(group)
    if len(groups) == 1:
        return fit_calibration(labels, probability).apply(probability)
    fair = np.empty_like(probability)
    for number in groups:
        own = group == number
        fair[own] = fit_calibration(labels[~own], probability[~own]).apply(probability[own])
    return fair


def log_loss(labels: Array, logits: Array) -> float:
    """Mean cross-entropy of the logits (n, c)."""
    highest = logits.max(1)
    total = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
    return float((total - logits[np.arange(len(labels)), labels]).mean())


def cooled(probability: Array, temperature: float, bias: tuple[float, ...] = ()) -> Array:
    """softmax(logits / temperature + bias) of the logits behind `probability`."""
    logits = np.log(np.clip(probability, LEAST, 1)) / temperature + np.array(bias or 0.0)
    raised = np.exp(logits - logits.max(1, keepdims=True))
    shares: Array = raised / raised.sum(1, keepdims=True)
    return shares


def conformal_scores(labels: Array, probability: Array) -> list[float]:
    """1 - probability of the true class, ascending, at most MOST_SCORES of them evenly picked."""
    return evenly_picked(1 - probability[np.arange(len(labels)), labels])


def evenly_picked(values: Array) -> list[float]:
    """The values ascending, at most MOST_SCORES of them evenly picked."""
    scores = np.sort(values)
    if len(scores) > MOST_SCORES:
        scores = scores[np.linspace(0, len(scores) - 1, MOST_SCORES).round().astype(int)]
    return [float(f"{value:.7g}") for value in scores]


def threshold(scores: list[float], coverage: float) -> float:
    """What 1 - p may be at most, so that sets hold the class of a share `coverage` of nodes."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be in (0, 1), got {coverage}")
    rank = math.ceil((len(scores) + 1) * coverage)
    return scores[rank - 1] if rank <= len(scores) else math.inf


def coverage_deviation(coverage: float, calibrating: int, counted: int) -> float:
    """The standard deviation that chance alone gives the share of `counted` nodes a set holds.

    The threshold of so many calibrating nodes holds a share with a beta distribution, of which the
    counted ones are a binomial sample: c (1 - c) (1 / (m + 2) + 1 / n).
    """
    variance = coverage * (1 - coverage) * (1 / (calibrating + 2) + 1 / max(counted, 1))
    return math.sqrt(variance)


def chance_range(coverage: float, calibrating: int, counted: int) -> tuple[float, float]:
    """Between what sets that hold the share asked for are found to hold in 19 of 20 counts."""
    reach = 1.96 * coverage_deviation(coverage, calibrating, counted)
    return coverage - reach, min(coverage + reach, 1.0)


def conformal_sets(probability: Array, scores: list[float], coverage: float) -> Array:
    """Which classes each node may have (n, classes); none where no class is likely enough."""
    inside: Array = 1 - probability <= threshold(scores, coverage) + 1e-6
    return inside


@dataclass(frozen=True)
class SetSizes:
    """How many classes sets hold on average, and the shares of nodes with one class and none."""

    mean: float
    one: float
    none: float


def set_sizes(inside: Array) -> SetSizes:
    """The sizes of conformal sets (n, classes)."""
    count = inside.sum(1)
    return SetSizes(float(count.mean()), float((count == 1).mean()), float((count == 0).mean()))


def largest_coverage(scores: list[float]) -> float:
    """The largest share of nodes that so many scores can vouch for: k / (k + 1)."""
    return len(scores) / (len(scores) + 1)
