"""Paired differences, and the verdict beside a published number."""

from __future__ import annotations

from collections.abc import Sequence

from elasticgnn.experiment import Summary, summarize
from elasticgnn.experiment.spec import Published, Tolerance


def paired(ours: Sequence[float], baseline: Sequence[float]) -> Summary:
    """The summary of run-by-run differences: runs of the same number share split and seed."""
    return summarize([a - b for a, b in zip(ours, baseline, strict=True)])


def word(difference: Summary) -> str:
    """ "tie" where the interval of a paired difference contains 0, else "higher" or "lower"."""
    if difference.low > 0:
        return "higher"
    return "lower" if difference.high < 0 else "tie"


def verdict(mean: float, published: Published, tolerance: Tolerance) -> str:
    """ "within", "above" or "below" the published mean, allowing for its deviation."""
    if is_within(mean, published, tolerance.std, tolerance.points):
        return "within"
    return "above" if mean > published.mean else "below"


def is_within(mean: float, published: Published, deviations: float, points: float) -> bool:
    """Whether the means differ by at most so many published deviations, or `points`."""
    margin = max(deviations * (published.std or 0.0), points)
    return abs(mean - published.mean) <= margin + 1e-9  # published means are rounded decimals
