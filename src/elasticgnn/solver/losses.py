"""The losses of the solver: squared, Huber, quantile, logistic, Poisson."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import expit, logit, xlogy

from elasticgnn.solver.loss import Array as Array
from elasticgnn.solver.loss import Interval
from elasticgnn.solver.loss import Loss as Loss


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


@dataclass(frozen=True)
class Huber(Loss):
    """(t - x)^2 / 2 up to `threshold`, then straight on: outliers pull no more than it.

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
        """The loss with its threshold in other units."""
        return replace(self, threshold=math.ldexp(self.threshold, exponent))

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


def _entropy(x: Array) -> Array:
    """The least value of log(1 + e^t) - x t."""
    parts = [p * np.log(np.where(p > 0, p, 1.0)) for p in (x, 1 - x)]
    return np.asarray(-parts[0] - parts[1])


LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (Squared, Huber, Quantile, Logistic, Poisson)
}
WITH_A_NUMBER = ("huber", "quantile")


def as_loss(loss: str | Loss) -> Loss:
    """The loss itself, or that of a text: "squared", "huber:1.5", "quantile:0.9", …"""
    if isinstance(loss, Loss):
        return loss
    name, _, number = str(loss).partition(":")
    if name not in LOSSES or (number and name not in WITH_A_NUMBER):
        known = ", ".join(LOSSES)
        raise ValueError(
            f"loss must be one of {known}, with a number as in huber:1.5 or quantile:0.9, "
            f"got {loss!r}"
        )
    if not number:
        return LOSSES[name]()
    try:
        value = float(number)
    except ValueError:
        raise ValueError(f"loss must have a number after its colon, got {loss!r}") from None
    return Huber(value) if name == "huber" else Quantile(value)
