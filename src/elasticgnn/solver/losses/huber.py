"""The Huber loss: the mean, without the harm of outliers."""

import math
import sys
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from elasticgnn.solver.losses.loss import Array, Interval, Loss


@dataclass(frozen=True)
class Huber(Loss):
    """(t - x)^2 / 2 up to `threshold`, then straight on: the slope of an outlier is no larger.

    >>> from elasticgnn.solver import Huber, minimise
    >>> minimise(x, chain, ElasticPenalty(0.3, 0.0), loss=Huber(threshold=0.5)).certified
    True
    """

    threshold: float = 1.345

    name = "huber"
    power = 2
    edge_softness = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and self.threshold > 0):
            raise ValueError(f"threshold must be a number > 0, got {self.threshold}")

    @property
    def edge_radius(self) -> float:
        """The slope of |t - x| in the loss."""
        return self.threshold

    def scaled(self, exponent: int) -> Self:
        """The loss with its threshold in other units; the largest number stands for more."""
        with np.errstate(over="ignore", under="ignore"):
            own = min(float(np.ldexp(self.threshold, exponent)), sys.float_info.max)
        if own == 0:
            raise ValueError(
                "threshold must be within the range of float64 in units of the data, "
                f"got {self.threshold}"
            )
        return replace(self, threshold=own)

    def value(self, t: Array, x: Array) -> Array:
        """The loss, by the formula above."""
        away = np.abs(t - x)
        near = np.minimum(away, self.threshold)
        return near**2 / 2 + self.threshold * (away - near)

    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative of the smooth part."""
        return np.zeros_like(t)

    def slope_noise(self, sigma: float, mean: float) -> float:
        """The standard deviation of the slope."""
        return min(sigma, self.threshold)

    def best(self, g: Array, x: Array) -> Array:
        """The inverse of the slope at g."""
        return np.where(np.abs(g) <= self.threshold, x + g, np.copysign(np.inf, g))

    def sublevel(self, x: Array, level: Array) -> Interval:
        """Where the loss is at most `level`."""
        straight = level / self.threshold + self.threshold / 2
        away = np.maximum(np.sqrt(2 * level), straight)
        return x - away, x + away

    def blur(self, t: Array, x: Array) -> Array:
        """Error of the slope at what `best` found."""
        return np.abs(t) + np.abs(x)
