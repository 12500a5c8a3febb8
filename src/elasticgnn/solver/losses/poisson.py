"""The Poisson loss: rates of counts."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from elasticgnn.solver.losses.loss import Array, Interval, Loss


@dataclass(frozen=True)
class Poisson(Loss):
    """e^t - x t + constant for counts x >= 0: F is the logarithm of the rate.

    >>> from elasticgnn.solver import Poisson, minimise
    >>> counts = torch.tensor([3.0, 4.0, 9.0, 8.0], dtype=torch.float64)
    >>> minimise(counts, chain, ElasticPenalty(0.5, 0.0), loss=Poisson()).certified
    True
    """

    name = "poisson"
    power = 0
    neutral = 1.0
    longest_change = 2.0

    def check(self, x: Array) -> None:
        """Refuses what is no such observation."""
        bad = x[x < 0]
        if bad.size:
            raise ValueError(f"x must be >= 0 for loss 'poisson', got {bad[0]}")

    def mean(self, t: Array) -> Array:
        """Rates."""
        return np.exp(t)

    def start(self, x: Array) -> Array:
        """A finite guess for every observation."""
        return np.log(x + 0.5)

    def value(self, t: Array, x: Array) -> Array:
        """The loss, by the formula above."""
        seen = x > 0
        above = np.where(seen, t - np.log(np.where(seen, x, 1.0)), 0.0)
        return np.where(seen, np.maximum(x * (np.expm1(above) - above), 0.0), np.exp(t))

    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative of the smooth part."""
        return np.exp(t) - x

    def smooth_curvature(self, t: Array, x: Array) -> Array:
        """The second derivative of the smooth part."""
        return np.exp(t)

    def slope_noise(self, sigma: float, mean: float) -> float:
        """The standard deviation of the slope."""
        return mean**0.5

    def best(self, g: Array, x: Array) -> Array:
        """The inverse of the slope at g."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(x + g, 0.0))

    def sublevel(self, x: Array, level: Array) -> Interval:
        """Where the loss is at most `level`."""
        # e^t > 0 below; above e^t - x t >= e^t / 2 + x - x log(2 x)
        low = np.divide(xlogy(x, x) - level - x, x, out=np.full_like(x, -np.inf), where=x > 0)
        return low, np.log(2 * (level + x * math.log(2)))

    def rise(self, a: Array, b: Array, x: Array) -> tuple[Array, Array]:
        """loss(a) - loss(b) without cancellation, and its rounding."""
        away = a - b
        near = np.abs(away) < 1
        small = np.exp(b) * np.expm1(np.where(near, away, 0.0))
        curved = np.where(near, small, np.exp(a) - np.exp(b))
        return curved - x * away, 8 * (np.abs(curved) + x * np.abs(away))

    def blur(self, t: Array, x: Array) -> Array:
        """Error of the slope at what `best` found."""
        return 4 * (np.exp(t) * (1 + np.abs(t)) + x)
