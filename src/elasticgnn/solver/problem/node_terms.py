"""What a node pays: its loss, a lasso on its value, and bounds that it must keep.

f(t) = c loss(t; x) + sparsity |t|, and infinite outside [lower, upper]. Its share of the duality
gap is Fenchel and Young's f(F) + f*(y) - y F with y = -(K'V), never negative; f* is taken over a
box that is known to hold an optimum, which makes it finite and the bound no less true.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.losses import Array, Loss

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Bounds:
    """A box that holds an optimum: (n, d) each."""

    low: Array
    high: Array

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> "Bounds":
        """The box of some nodes, or of some entries."""
        return Bounds(self.low[places], self.high[places])


@dataclass(frozen=True)
class NodeTerms:
    """The loss and what stands beside it; bounds are (n, d), infinite where there is none."""

    loss: Loss
    sparsity: float
    lower: Array
    upper: Array

    def part(self, columns: slice) -> "NodeTerms":
        """The terms of some channels."""
        low, high = (np.ascontiguousarray(b[:, columns]) for b in (self.lower, self.upper))
        return replace(self, lower=low, upper=high)

    @property
    def is_bounded(self) -> bool:
        """Whether any entry has a bound."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def value(self, weight: Array, x: Array, signal: Array) -> float:
        """Sum of f."""
        data = weight * self.loss.value(signal, x)
        outside = (signal < self.lower) | (signal > self.upper)
        lasso = self.sparsity * float(np.abs(signal).sum())
        return float("inf") if outside.any() else float(data.sum()) + lasso

    def best(self, weight: Array, x: Array, y: Array, box: Bounds) -> Array:
        """The t of the box at which y t - f(t) is largest."""
        up = self.loss.best(_ratio(y - self.sparsity, weight), x)
        if self.sparsity > 0:
            down = self.loss.best(_ratio(y + self.sparsity, weight), x)
            up = np.where(up > 0, up, np.where(down < 0, down, 0.0))
        return np.clip(up, np.maximum(self.lower, box.low), np.minimum(self.upper, box.high))

    def gap(
        self, weight: Array, x: Array, pair: tuple[Array, Array], box: Bounds, noise: Array
    ) -> tuple[float, float]:
        """Sum of f(F) + f*(y) - y F over entries, and its rounding; y is known up to `noise`."""
        (signal, y), x, box = self._from_data(pair, x, box)
        with np.errstate(all="ignore"):
            best = self.best(weight, x, y, box)
            away = signal - best
            seen = weight > 0
            rise, rise_noise = (np.where(seen, r, 0.0) for r in self.loss.rise(signal, best, x))
            lasso = self.sparsity * (np.abs(signal) - np.abs(best))
            terms = np.maximum(weight * rise + lasso - y * away, 0.0)
            blur = np.where(seen, weight * self.loss.blur(best, x), 0.0)
            noise = noise + 4 * EPS * (np.abs(y) + blur)
            reach = np.abs(away)
            for side in (y - noise, y + noise):
                reach = np.maximum(reach, np.abs(signal - self.best(weight, x, side, box)))
            # an entry that the flow does not reach adds nothing, wherever its best value is
            rounding = np.where(noise > 0, noise * reach, 0.0)
            curved = np.where(seen, weight * self.loss.smooth_curvature(signal, x), 0.0)
            rounding += curved * (EPS * (np.abs(signal) + 1)) ** 2  # of the signal's last digit
            rounding += EPS * (weight * rise_noise + 4 * (np.abs(lasso) + np.abs(y * away)))
        return float(terms.sum()), float(rounding.sum())

    def _from_data(
        self, pair: tuple[Array, Array], x: Array, box: Bounds
    ) -> tuple[tuple[Array, Array], Array, Bounds]:
        """Everything counted from the data, where nothing but the loss looks at the values.

        f(F) + f*(y) - y F does not change by that, and data far from 0 do not round it.
        """
        if self.sparsity > 0 or self.is_bounded or self.loss.power == 0:
            return pair, x, box
        off = (pair[0] - x, pair[1])
        low, high = (
            np.nextafter(e - x, side) for e, side in ((box.low, -np.inf), (box.high, np.inf))
        )
        return off, np.zeros_like(x), Bounds(low, high)


def _ratio(y: Array, weight: Array) -> Array:
    """y / c, and without data infinite in the direction of y."""
    endless = np.where(y == 0, 0.0, np.copysign(np.inf, y))
    return np.divide(y, weight, out=endless, where=weight > 0)
