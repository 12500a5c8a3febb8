"""Means of repeated runs and how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation and half-width of the 95 % interval of the mean (Student's t).

    >>> from elasticgnn.experiment import summarize
    >>> found = summarize([0.7, 0.8, 0.9])
    >>> round(found.mean, 2), found.low < found.mean < found.high
    (0.8, True)
    """

    mean: float
    deviation: float
    margin: float
    count: int

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return self.mean - self.margin

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return self.mean + self.margin


def summarize(values: Sequence[float]) -> Summary:
    """The summary of at least one number; one alone has neither deviation nor margin (nan).

    >>> from elasticgnn.experiment import summarize
    >>> summarize([0.5, 0.5]).deviation
    0.0
    """
    from scipy.stats import t

    if not values:
        raise ValueError("values must hold at least one number, got none")
    data, count = np.asarray(values, dtype=np.float64), len(values)
    if count == 1:
        return Summary(float(data[0]), float("nan"), float("nan"), 1)
    deviation = float(data.std(ddof=1))
    margin = float(t.ppf(0.975, count - 1)) * deviation / count**0.5
    return Summary(float(data.mean()), deviation, margin, count)
