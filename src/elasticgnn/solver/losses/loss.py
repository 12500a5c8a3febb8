"""Data terms: how far a fitted value t lies from an observation x, each at least 0.

Each loss is convex in t, and its least value over t is taken from it, so that 0 is a perfect fit
(half the deviance for "logistic" and "poisson"). A certificate needs of it the argument at which
g t - loss(t) is largest: the derivative of its conjugate (docs/math.md, "Certificate").
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Interval = tuple[Array, Array]


@dataclass(frozen=True)
class Loss(ABC):
    """loss(t; x), for arrays of one shape.

    >>> from elasticgnn.solver import Loss, Squared
    >>> isinstance(Squared(), Loss), Squared().name
    (True, 'squared')
    """

    name: ClassVar[str]
    power: ClassVar[int]  # k with loss(b t; b x) = b^k loss(t; x), any settings scaled as well
    neutral: ClassVar[float] = 0.0  # an observation that is fitted perfectly by 0
    edge_softness: ClassVar[float] = 0.0  # of the absolute value below: 1 for its envelope
    longest_change: ClassVar[float] = math.inf  # of a fitted value in one Newton step

    @property
    def edge_radius(self) -> float:
        """Slope of an absolute value |t - x| that is part of the loss."""
        return 0.0

    def scaled(self, exponent: int) -> Self:
        """The loss of data multiplied by 2^exponent."""
        del exponent
        return self

    def check(self, x: Array) -> None:
        """Refuses observations that this loss cannot have."""
        del x

    def mean(self, t: Array) -> Array:
        """The observations that the fitted value t predicts."""
        return t

    def start(self, x: Array) -> Array:
        """A sensible fitted value for each observation."""
        return x

    def slope_noise(self, sigma: float, mean: float) -> float:
        """The size of the slope's noise where data have this noise and mean."""
        del mean
        return sigma

    @abstractmethod
    def value(self, t: Array, x: Array) -> Array:
        """loss(t; x) >= 0."""

    @abstractmethod
    def smooth_slope(self, t: Array, x: Array) -> Array:
        """The derivative in t, without that of the absolute value."""

    def smooth_curvature(self, t: Array, x: Array) -> Array:
        """The second derivative in t, without the absolute value."""
        del x
        return np.zeros_like(t)

    @abstractmethod
    def best(self, g: Array, x: Array) -> Array:
        """A t at which g t - loss(t; x) is largest; infinite where it grows without end."""

    @abstractmethod
    def sublevel(self, x: Array, level: Array) -> Interval:
        """Ends of an interval that holds every t with loss(t; x) <= level."""

    def rise(self, a: Array, b: Array, x: Array) -> tuple[Array, Array]:
        """loss(a) - loss(b), and a bound of its rounding in units of eps."""
        high, low = self.value(a, x), self.value(b, x)
        return high - low, 4 * (high + low)

    def blur(self, t: Array, x: Array) -> Array:
        """Error, in units of eps, of the slope at a t that `best` found."""
        return self.smooth_curvature(t, x) * (np.abs(t) + np.abs(x))
