"""Differences and divergence of a certificate, with bounds on their rounding."""

from typing import Protocol

import numpy as np

from elasticgnn.solver.linear_algebra.twofold import (
    LOST,
    TwofoldProducts,
    exact_sum,
    twofold_operator,
)
from elasticgnn.solver.problem.instance import Array, Instance

EPS = float(np.finfo(np.float64).eps)


class Products(Protocol):
    """How K F and K'V are computed."""

    def differences(self, signal: Array) -> tuple[Array, Array]:
        """K F (r, d) and what its error is at most, in units of 4 eps."""

    def divergence(self, flow: Array) -> tuple[Array, Array]:
        """K'V (n, d) and what its error is at most, in units of eps."""

    def away(self, signal: Array) -> Array:
        """What |F - X| rounds with, in units of 4 eps."""


class PlainProducts:
    """float64."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance

    def differences(self, signal: Array) -> tuple[Array, Array]:
        """K F (r, d) and what its error is at most, in units of 4 eps."""
        instance, operator = self.instance, self.instance.operator
        signal = signal - _anchor(instance, signal)
        delta = operator @ signal
        if instance.is_plain and instance.geometry.unscaled:
            return delta, np.abs(delta)
        return delta, _roundings(instance) / 8 * (abs(operator) @ np.abs(signal))

    def divergence(self, flow: Array) -> tuple[Array, Array]:
        """K'V (n, d) and what its error is at most, in units of eps."""
        adjoint = self.instance.adjoint
        entries = np.diff(adjoint.indptr)[:, None] + 4
        return adjoint @ flow, np.asarray(entries * (abs(adjoint) @ np.abs(flow)))

    def away(self, signal: Array) -> Array:
        """What |F - X| rounds with, in units of 4 eps."""
        if self.instance.geometry.unscaled:
            return np.abs(signal - self.instance.x)
        # as the compiled loops, which round s F and s X
        return np.abs(signal) + np.abs(self.instance.x)


class ExactProducts:
    """Twice the digits: what is left is the rounding of the result."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        operator = twofold_operator(instance.geometry)
        self.products = TwofoldProducts(operator, len(instance.x))

    def differences(self, signal: Array) -> tuple[Array, Array]:
        """K F (r, d) and what its error is at most, in units of 4 eps."""
        off, low = exact_sum(signal, -_anchor(self.instance, signal))
        delta, operator = self.products.differences(off, low), self.instance.operator
        entries = np.diff(operator.indptr)[:, None] + 4
        return delta, np.abs(delta) + LOST / EPS * entries * (abs(operator) @ np.abs(off))

    def divergence(self, flow: Array) -> tuple[Array, Array]:
        """K'V (n, d) and what its error is at most, in units of eps."""
        out, adjoint = self.products.divergence(flow), self.instance.adjoint
        entries = np.diff(adjoint.indptr)[:, None] + 4
        return out, 2 * np.abs(out) + LOST / EPS * entries * (abs(adjoint) @ np.abs(flow))

    def away(self, signal: Array) -> Array:
        """What |F - X| rounds with, in units of 4 eps."""
        return np.abs(signal - self.instance.x)


def _roundings(instance: Instance) -> Array:
    """(r, 1): halves of an eps that a row of K F is wrong by at most, 8 where fewer would do.

    One per entry for its sum. Entries of trends are sums themselves: hubs have many.
    """
    entries = np.diff(instance.operator.indptr)[:, None].astype(np.float64)
    exact = instance.is_plain or instance.geometry.boundary == "free"
    return np.maximum(entries if exact else 2 * entries + 6, 8.0)


def _anchor(instance: Instance, signal: Array) -> Array:
    """A value of each component, which the rows do not see: what is left rounds less."""
    if instance.is_plain or not instance.geometry.flat_constants:
        return np.zeros_like(signal)
    labels = instance.geometry.component
    if not labels.any():
        return signal[:1]
    first = np.unique(labels, return_index=True)[1]
    return signal[first[labels]]
