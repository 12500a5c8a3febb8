"""The logistic loss: probabilities of labels 0 and 1."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from elasticgnn.solver.losses.loss import Array, Interval, Loss


@dataclass(frozen=True)
class Logistic(Loss):
    """log(1 + e^t) - x t + constant for x in [0, 1]: F is the logarithm of the odds.

    >>> from elasticgnn.solver import Logistic, minimise
    >>> zeros_and_ones = (x > 0.5).double()
    >>> minimise(zeros_and_ones, chain, ElasticPenalty(0.1, 0.0), loss=Logistic()).certified
    True
    """

    name = "logistic"
    power = 0
    neutral = 0.5
    longest_change = 3.0

    def check(self, x: Array) -> None:
        """Refuses what is no such observation."""
        bad = x[(x < 0) | (x > 1)]
        if bad.size:
            raise ValueError(f"x must lie in [0, 1] for loss 'logistic', got {bad[0]}")

    def mean(self, t: Array) -> Array:
        """Probabilities."""
        return np.asarray(expit(t))

    def start(self, x: Array) -> Array:
        """A finite guess for every observation."""
        return np.asarray(logit(0.25 + 0.5 * x))

    def value(self, t: Array, x: Array) -> Array:
        """The loss, by the formula above."""
        plain = x * np.logaddexp(0, -t) + (1 - x) * np.logaddexp(0, t)
        return np.maximum(plain - _entropy(x), 0.0)

    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative of the smooth part."""
        return np.asarray(expit(t) - x)

    def smooth_curvature(self, t: Array, x: Array) -> Array:
        """The second derivative of the smooth part."""
        return np.asarray(expit(t) * expit(-t))

    def slope_noise(self, sigma: float, mean: float) -> float:
        """The standard deviation of the slope."""
        return max(mean * (1 - mean), 0.0) ** 0.5

    def best(self, g: Array, x: Array) -> Array:
        """The inverse of the slope at g."""
        return np.asarray(logit(np.clip(x + g, 0.0, 1.0)))

    def sublevel(self, x: Array, level: Array) -> Interval:
        """Where the loss is at most `level`."""
        # log(1 + e^t) >= t and >= 0
        room = level + _entropy(x)
        with np.errstate(divide="ignore"):
            return -room / x, room / (1 - x)

    def rise(self, a: Array, b: Array, x: Array) -> tuple[Array, Array]:
        """loss(a) - loss(b) without cancellation, and its rounding."""
        away = a - b
        near = np.abs(away) < 1
        small = np.log1p(expit(b) * np.expm1(np.where(near, away, 0.0)))
        curved = np.where(near, small, np.logaddexp(0, a) - np.logaddexp(0, b))
        far = np.where(near, 0.0, np.logaddexp(0, a) + np.logaddexp(0, b))
        return curved - x * away, 8 * (np.abs(away) + far)

    def blur(self, t: Array, x: Array) -> Array:
        """Error of the slope at what `best` found."""
        return 4 * (1 + np.abs(t))


def _entropy(x: Array) -> Array:
    """The least value of log(1 + e^t) - x t."""
    parts = [p * np.log(np.where(p > 0, p, 1.0)) for p in (x, 1 - x)]
    return np.asarray(-parts[0] - parts[1])
