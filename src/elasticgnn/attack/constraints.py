"""What an attacker must leave intact: no node without edges, degrees that still look the same."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Degrees = NDArray[np.int64]
Allowed = NDArray[np.bool_]

LEAST_DEGREE = 2  # the power law is fitted to degrees from here on


@dataclass(frozen=True)
class Constraints:
    """Which flips are out of bounds.

    `keep_last_edge`: no removal may isolate a node. `degree_test`: the likelihood ratio between
    "both degree sequences follow one power law" and "each its own" stays below this number
    (Nettack's test, usually 0.004); None leaves degrees free. `node_share`: a node takes part in at
    most this share of its degree of flips, rounded down (LR-BCD's local budget, usually 0.5).

    >>> from elasticgnn.attack import Constraints
    >>> Constraints(keep_last_edge=True, node_share=0.5).node_share
    0.5
    """

    keep_last_edge: bool = True
    degree_test: float | None = None
    node_share: float | None = None

    def __post_init__(self) -> None:
        if self.degree_test is not None and not self.degree_test > 0:
            raise ValueError(f"degree_test must be > 0 or None, got {self.degree_test}")
        if self.node_share is not None and not self.node_share >= 0:
            raise ValueError(f"node_share must be >= 0 or None, got {self.node_share}")

    def node_budget(self, degrees: Degrees) -> Degrees | None:
        """Flips that each node may take part in (n,), None: any number."""
        if self.node_share is None:
            return None
        return np.floor(self.node_share * degrees + 1e-9).astype(np.int64)


@dataclass(frozen=True)
class PowerLaw:
    """Sufficient statistics of a degree sequence: how many degrees count, and their log sum."""

    count: float | NDArray[np.float64]
    log_sum: float | NDArray[np.float64]

    @classmethod
    def of(cls, degrees: Degrees) -> "PowerLaw":
        """Count and sum of logarithms of the degrees that the power law is fitted to."""
        large = degrees[degrees >= LEAST_DEGREE]
        return cls(float(large.size), float(np.log(large).sum()))

    def log_likelihood(self) -> NDArray[np.float64]:
        """At the fitted exponent: n log(a - 1) + n (a - 1) log(d0) - a sum log d, d0 = 2 - 1/2."""
        count, log_sum = np.asarray(self.count), np.asarray(self.log_sum)
        start = np.log(LEAST_DEGREE - 0.5)
        excess = np.maximum(log_sum - count * start, 1e-12)
        slope = np.maximum(count, 1e-12) / excess
        return np.asarray(count * np.log(slope) + count * slope * start - (slope + 1) * log_sum)


@dataclass(frozen=True)
class DegreeTest:
    """Nettack's likelihood-ratio test against the degrees of the untouched graph."""

    original: PowerLaw
    threshold: float

    def allows(self, current: Degrees, one: Degrees, other: Degrees, step: int) -> Allowed:
        """(len(one), len(other)): may ends of these degrees both change by `step`?"""
        now = PowerLaw.of(current)
        count_one, log_one = change(one, step)
        count_other, log_other = change(other, step)
        after = PowerLaw(
            now.count + count_one[:, None] + count_other,
            now.log_sum + log_one[:, None] + log_other,
        )
        both = PowerLaw(after.count + self.original.count, after.log_sum + self.original.log_sum)
        apart = self.original.log_likelihood() + after.log_likelihood()
        return np.asarray(2 * (apart - both.log_likelihood()) < self.threshold)


def change(degrees: Degrees, step: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What moving each degree by `step` adds to the count and to the log sum."""
    before, after = degrees >= LEAST_DEGREE, degrees + step >= LEAST_DEGREE
    old = np.where(before, np.log(np.maximum(degrees, 1)), 0.0)
    new = np.where(after, np.log(np.maximum(degrees + step, 1)), 0.0)
    return after.astype(float) - before.astype(float), new - old
