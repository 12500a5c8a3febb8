"""The user's numbers and the solver's: centred and multiplied by powers of two, both exactly.

A problem does not change if a constant is taken from the data of a component (differences do not
see it), nor if data and lambda1 are multiplied by one number. So x * 1e-160, x and x * 1e160, and
x + 1e12, are solved as one problem. A constant is taken only where it dominates the data, and it
is one of their values: then the subtraction is exact (Sterbenz), and so is the way back but for
the rounding of the answer to float64, which the certificate sees.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.pieces.flatten import flat_strength
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import NodeTerms

LARGEST = 1e290  # of a strength in the solver's units: a larger one has the same answer
FLAT_TO_ROUNDING = 1e30  # times what makes everything flat
LARGEST_PRODUCT = 1000  # exponents whose power of two is a normal number


@dataclass(frozen=True)
class Units:
    """F_solver = (F - shift) 2^exponent; data weights are multiplied by 2^weight_exponent.

    `power` is the loss's: data multiplied by b have b^power times its value.
    """

    shift: Array  # (n, d)
    exponent: int
    weight_exponent: int
    power: int = 2

    @property
    def slope_exponent(self) -> int:
        """Of flows and lambda1: values per unit of the data."""
        return (self.power - 1) * self.exponent + self.weight_exponent

    def signal_in(self, signal: Array) -> Array:
        """A signal of the user's in the solver's units."""
        return times_power(signal - self.shift, self.exponent)

    def signal_out(self, signal: Array) -> Array:
        """A signal of the solver's in the user's units."""
        return np.asarray(times_power(signal, -self.exponent) + self.shift)

    def flow_in(self, flow: Array) -> Array:
        """A flow in the solver's units."""
        return times_power(flow, self.slope_exponent)

    def flow_out(self, flow: Array) -> Array:
        """A flow in the user's units."""
        return times_power(flow, -self.slope_exponent)

    def strength_in(self, lambda1: float) -> float:
        """lambda1 in the solver's units."""
        return _ldexp(lambda1, self.slope_exponent)

    def value_out(self, value: float) -> float:
        """An objective or a gap in the user's units; inf where float64 ends."""
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(value, -self.power * self.exponent - self.weight_exponent))

    def root_out(self, value: float) -> float:
        """The root of an objective or a gap in the user's units."""
        odd = self.weight_exponent % 2
        half = -self.exponent - (self.weight_exponent + odd) // 2
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(math.sqrt(value * 2**odd), half))


@dataclass(frozen=True)
class Prepared:
    """A problem in the user's units and in the solver's."""

    original: Instance
    instance: Instance  # data and weights of order one
    units: Units

    def within_bounds(self, signal: Array) -> Array:
        """A signal in the user's units without the rounding that leaves its bounds."""
        terms = self.original.terms
        return signal if terms is None else np.clip(signal, terms.lower, terms.upper)

    def as_held(self, signal: Array) -> Array:
        """A signal of the solver's as float64 can hold it in the user's units."""
        with np.errstate(over="ignore"):
            return self.units.signal_in(self.within_bounds(self.units.signal_out(signal)))

    def with_lambda1(self, lambda1: float) -> "Prepared":
        """The same data with another strength."""
        own = replace(self.instance, lambda1=self.units.strength_in(lambda1))
        return _checked(Prepared(replace(self.original, lambda1=lambda1), own, self.units))


def prepare(instance: Instance) -> Prepared:
    """The instance, centred and scaled, with the way back."""
    if instance.terms is not None:
        return _prepare_terms(instance, instance.terms)
    shift = _dominant_offset(instance)
    x = np.where(instance.is_missing, 0.0, instance.x - shift)
    units = Units(shift, -leading_exponent(x), -leading_exponent(instance.data_weight))
    own = replace(
        instance,
        x=np.ldexp(x, units.exponent),
        data_weight=np.ldexp(instance.data_weight, units.weight_exponent),
        lambda1=units.strength_in(instance.lambda1),
        lambda2=_ldexp(instance.lambda2, units.weight_exponent),
    )
    return _checked(Prepared(instance, own, units))


def _prepare_terms(instance: Instance, terms: NodeTerms) -> Prepared:
    """The same for other losses, lasso and bounds; only what they allow is moved or scaled."""
    shift = np.zeros_like(instance.x)
    if terms.sparsity == 0 and terms.loss.power > 0:
        offset = _dominant_offset(instance)
        shift = offset if _bounds_move(terms, offset) else shift
    x = np.where(instance.is_missing, instance.x, instance.x - shift)
    exponent = -leading_exponent(x) if terms.loss.power > 0 else 0
    units = Units(shift, exponent, -leading_exponent(instance.data_weight), terms.loss.power)
    own_terms = replace(
        terms,
        loss=terms.loss.scaled(exponent),
        sparsity=units.strength_in(terms.sparsity),
        lower=np.ldexp(terms.lower - shift, exponent),
        upper=np.ldexp(terms.upper - shift, exponent),
    )
    own = replace(
        instance,
        x=np.ldexp(x, exponent),
        data_weight=np.ldexp(instance.data_weight, units.weight_exponent),
        lambda1=units.strength_in(instance.lambda1),
        lambda2=_ldexp(instance.lambda2, (units.power - 2) * exponent + units.weight_exponent),
        terms=own_terms,
    )
    return _checked(Prepared(instance, own, units))


def _checked(prepared: Prepared) -> Prepared:
    """The same; refuses a strength that was cut off at LARGEST where that changes the answer."""
    own, original = prepared.instance, prepared.original
    for name in ("lambda1", "lambda2"):
        if getattr(own, name) >= LARGEST and not _flat_at_largest(own):
            raise ValueError(
                f"{name} must be at most {LARGEST:g} in units of the data where weights are as "
                f"small as these or bounds keep nodes apart, got {getattr(original, name):g}"
            )
    if own.terms is not None and own.terms.sparsity >= LARGEST and not _admits_zero(own.terms):
        assert original.terms is not None
        raise ValueError(
            f"sparsity must be at most {LARGEST:g} in units of the data where 0 is out of bounds, "
            f"got {original.terms.sparsity:g}"
        )
    return prepared


def _admits_zero(bounds: NodeTerms) -> bool:
    return bool((bounds.lower <= 0).all() and (bounds.upper >= 0).all())


def _flat_at_largest(own: Instance) -> bool:
    """Whether the answer at a strength of LARGEST has no differences, as at any larger one."""
    least = own.least_channel_factor
    if not flat_strength(own) * FLAT_TO_ROUNDING <= LARGEST * min(least, least**2):
        return False
    if own.terms is None:
        return True
    labels, scale = own.geometry.component, own.scale[:, None]
    shape = (int(labels.max(initial=-1)) + 1, own.x.shape[1])
    low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
    np.maximum.at(low, labels, scale * own.terms.lower)
    np.minimum.at(high, labels, scale * own.terms.upper)
    return bool((low <= high).all())


def _bounds_move(terms: NodeTerms, shift: Array) -> bool:
    """Whether taking the shift from the bounds is exact: infinite, or within a factor of two."""
    near = [
        np.isinf(b)
        | (shift == 0)
        | ((b / 2 <= shift) & (shift <= 2 * b))
        | ((2 * b <= shift) & (shift <= b / 2))
        for b in (terms.lower, terms.upper)
    ]
    return all(one.all() for one in near)


def times_power(values: Array, exponent: int) -> Array:
    """values * 2^exponent, as ldexp but by one product where that is in range."""
    if abs(exponent) < LARGEST_PRODUCT:
        return np.asarray(values * 2.0**exponent)
    return np.asarray(np.ldexp(values, exponent))


def leading_exponent(values: Array) -> int:
    """k with the largest |value| in [2^(k-1), 2^k)."""
    largest = float(np.abs(values).max(initial=0.0))
    return math.frexp(largest)[1] if largest > 0 else 0


def _ldexp(value: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return min(float(np.ldexp(value, exponent)), LARGEST)


def _dominant_offset(instance: Instance) -> Array:
    """(n, d): a value of each component's data that all its data are close to, else 0."""
    shift = np.zeros_like(instance.x)
    if not instance.geometry.flat_constants:
        return shift
    labels = instance.geometry.component
    for k in range(instance.x.shape[1]):
        shift[:, k] = _offset_of_column(instance.x[:, k], instance.data_weight[:, k] > 0, labels)
    return shift


def _offset_of_column(column: Array, seen: NDArray[np.bool_], labels: NDArray[np.intp]) -> Array:
    """One number per node: the least of its component's data, if all are close to it."""
    count = int(labels.max(initial=-1)) + 1
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    if count == 1:
        low[0], high[0] = column[seen].min(initial=np.inf), column[seen].max(initial=-np.inf)
    else:
        np.minimum.at(low, labels[seen], column[seen])
        np.maximum.at(high, labels[seen], column[seen])
    # of one sign and within a factor of 3/2 of each other: a - b is exact for all pairs
    near, far = np.minimum(abs(low), abs(high)), np.maximum(abs(low), abs(high))
    close = (np.sign(low) * np.sign(high) > 0) & (far / 1.5 <= near)
    return np.asarray(np.where(close, low, 0.0)[labels])
