"""Sets that hold the class, intervals that hold the number: split conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
MOST_SCORES = 1000  # conformal scores that a model file holds


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
