"""The quantile loss: a quantile of a node, 0.5 the median."""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.losses.loss import Array, Interval, Loss


@dataclass(frozen=True)
class Quantile(Loss):
    """level (x - t) below the observation, (1 - level) (t - x) above: F is that quantile.

    >>> from elasticgnn.solver import Quantile, minimise
    >>> minimise(x, chain, ElasticPenalty(0.1, 0.0), loss=Quantile(level=0.9)).certified
    True
    """

    level: float = 0.5

    name = "quantile"
    power = 1

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"level must lie in (0, 1), got {self.level}")

    @property
    def edge_radius(self) -> float:
        """The slope of |t - x| in the loss."""
        return 0.5

    def value(self, t: Array, x: Array) -> Array:
        """The loss, by the formula above."""
        return np.maximum(self.level * (x - t), (1 - self.level) * (t - x))

    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative of the smooth part."""
        return np.full_like(t, 0.5 - self.level)

    def slope_noise(self, sigma: float, mean: float) -> float:
        """The standard deviation of the slope."""
        return (self.level * (1 - self.level)) ** 0.5

    def best(self, g: Array, x: Array) -> Array:
        """The inverse of the slope at g."""
        above = np.where(g > 1 - self.level, np.inf, x)
        return np.where(g < -self.level, -np.inf, above)

    def sublevel(self, x: Array, level: Array) -> Interval:
        """Where the loss is at most `level`."""
        return x - level / self.level, x + level / (1 - self.level)
