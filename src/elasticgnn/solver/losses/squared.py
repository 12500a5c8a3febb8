"""The squared loss: the mean of a node."""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.losses.loss import Array, Interval, Loss


@dataclass(frozen=True)
class Squared(Loss):
    """(t - x)^2 / 2.

    >>> from elasticgnn.solver import Squared, minimise
    >>> minimise(x, chain, ElasticPenalty(0.3, 0.0), loss=Squared()).certified
    True
    """

    name = "squared"
    power = 2

    def value(self, t: Array, x: Array) -> Array:
        """The loss, by the formula above."""
        return (t - x) ** 2 / 2

    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative of the smooth part."""
        return t - x

    def smooth_curvature(self, t: Array, x: Array) -> Array:
        """The second derivative of the smooth part."""
        return np.ones_like(t)

    def best(self, g: Array, x: Array) -> Array:
        """The inverse of the slope at g."""
        return x + g

    def sublevel(self, x: Array, level: Array) -> Interval:
        """Where the loss is at most `level`."""
        away = np.sqrt(2 * level)
        return x - away, x + away

    def rise(self, a: Array, b: Array, x: Array) -> tuple[Array, Array]:
        """loss(a) - loss(b) without cancellation, and its rounding."""
        far = np.abs(a - x) + np.abs(b - x)
        return (a - b) * ((a - x) + (b - x)) / 2, 4 * np.abs(a - b) * far
