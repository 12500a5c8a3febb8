"""Means with their uncertainty, paired differences, and the verdict beside a published number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from elasticgnn.experiment.spec import Published, Tolerance


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (n - 1) and 95 % interval of the mean over `count` runs."""

    count: int
    mean: float
    std: float
    low: float
    high: float


def summarize(values: Sequence[float]) -> Summary:
    """The summary of `values`; Student's t gives the interval, a single run has none."""
    if not values:
        raise ValueError("values must have at least one entry, got none")
    mean = fmean(values)
    if len(values) == 1:
        return Summary(1, mean, 0.0, -math.inf, math.inf)
    std = stdev(values)
    half = student_quantile(len(values) - 1) * std / math.sqrt(len(values))
    return Summary(len(values), mean, std, mean - half, mean + half)


def student_quantile(degrees: int) -> float:
    """The 97.5 % point of Student's t."""
    from scipy.stats import t

    return float(t.ppf(0.975, degrees))


def paired(ours: Sequence[float], baseline: Sequence[float]) -> Summary:
    """The summary of run-by-run differences: runs of the same number share split and seed."""
    return summarize([a - b for a, b in zip(ours, baseline, strict=True)])


def word(difference: Summary) -> str:
    """ "tie" where the interval of a paired difference contains 0, else "higher" or "lower"."""
    if difference.low <= 0 <= difference.high:
        return "tie"
    return "higher" if difference.mean > 0 else "lower"


def verdict(mean: float, published: Published, tolerance: Tolerance) -> str:
    """ "within", "above" or "below" the published mean, allowing for its deviation."""
    margin = max(tolerance.std * (published.std or 0.0), tolerance.points)
    # Published numbers are rounded to one digit more or less: compare in the open.
    if abs(mean - published.mean) <= margin + 1e-9:
        return "within"
    return "above" if mean > published.mean else "below"
