"""Objective and duality gap of a pair (F, V) with a bound on the rounding of both.

The gap is summed from terms that are each >= 0, not taken as a difference of two large numbers:

    sum_r [omega phi(delta_r) + omega phi*(V_r / omega) - <V_r, delta_r>]      Fenchel-Young, rows
  + sum_i |c_i (F_i - X_i) + (K'V)_i|^2 / (2 c_i)                              Fenchel-Young, nodes

with phi(delta) = lambda1 |delta| + lambda2/2 |delta|^2 and V = omega W the flow of the folded dual.
Other losses, a lasso on the nodes and bounds: solver/problem/node_terms.py has the second sum.
Where c_i = 0 the node's term is <F_i, (K'V)_i> - min over the box `bounds` of <., (K'V)_i>:
valid because some optimum lies in that box (solver/certificate/missing.py).
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from elasticgnn.solver.certificate.products import PlainProducts, Products
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import Bounds

EPS = float(np.finfo(np.float64).eps)
SHORTEST = 1e-140  # of a length that the sum of squares can resolve


class Verdict(StrEnum):
    """What a certificate says of an answer.

    >>> from elasticgnn.solver import minimise
    >>> minimise(x, chain, ElasticPenalty(0.3, 0.0)).verdict
    <Verdict.CERTIFIED: 'certified'>
    """

    CERTIFIED = "certified"  # the gap is at most rtol times the objective
    ROUNDING_FLOOR = "at the rounding floor"  # it is not, but float64 can show no smaller one
    UNCERTIFIED = "NOT certified"


@dataclass(frozen=True)
class Measure:
    """gap >= P(F) - min P, its rounding included; `rounding` alone is the smallest possible gap."""

    objective: float
    gap: float
    rounding: float

    @property
    def relative_gap(self) -> float:
        """gap / objective; 0 when both are 0, inf of an infinite objective."""
        if 0 < self.objective < math.inf:
            return self.gap / self.objective
        return 0.0 if self.gap == 0 else math.inf

    def verdict(self, rtol: float) -> Verdict:
        """Certified to `rtol`, at the floor of rounding, or neither."""
        if self.gap <= rtol * self.objective < math.inf:
            return Verdict.CERTIFIED
        at_floor = self.gap <= 2 * self.rounding < math.inf
        return Verdict.ROUNDING_FLOOR if at_floor else Verdict.UNCERTIFIED

    def is_final(self, rtol: float) -> bool:
        """Whether no method can say more: certified, or at the rounding floor."""
        return self.verdict(rtol) is not Verdict.UNCERTIFIED


def bounded_measure(objective: float, gap: float, rounding: float) -> Measure:
    """The measure, where a sum of losses and norms says by itself that min P >= 0."""
    known = min(gap, objective) if gap == gap else objective
    return Measure(objective, known if known == known else math.inf, rounding)


def measure(
    instance: Instance,
    signal: Array,
    flow: Array,
    bounds: Bounds | None = None,
    products: Products | None = None,
) -> Measure:
    """The certificate of signal F (n, d) and flow V (r, d); V must keep its ball if lambda2 = 0."""
    products = PlainProducts(instance) if products is None else products
    with np.errstate(invalid="ignore", over="ignore"):  # a box without bounds gives no certificate
        return _measure(instance, signal, flow, bounds, products)


def _measure(
    instance: Instance, signal: Array, flow: Array, bounds: Bounds | None, products: Products
) -> Measure:
    penalty, row_gap, row_rounding = _row_terms(instance, signal, flow, products)
    data, node_gap, node_rounding = _node_terms(instance, signal, flow, bounds, products)
    objective = penalty + data
    rounding = row_rounding + node_rounding + 8 * EPS * (row_gap + node_gap)
    return bounded_measure(objective, row_gap + node_gap + rounding, rounding)


def _row_terms(
    instance: Instance, signal: Array, flow: Array, products: Products
) -> tuple[float, float, float]:
    omega, (delta, spread) = instance.row_weight[:, None], products.differences(signal)
    factor = instance.channel_factor
    size, reach = lengths(instance, delta * factor), lengths(instance, flow / factor)
    value = omega * (instance.lambda1 * size)
    conjugate = np.zeros_like(reach)
    if instance.lambda2 > 0:  # else squares may leave the range of float64
        value = value + omega * (instance.lambda2 / 2 * size**2)
        beyond = np.maximum(reach - instance.lambda1 * omega, 0)
        conjugate = np.divide(
            beyond**2, 2 * instance.lambda2 * omega, out=conjugate, where=omega > 0
        )
    inner = delta * flow
    if not instance.entrywise:
        inner = inner.sum(1, keepdims=True)
    gap = np.maximum(value + conjugate - inner, 0).sum()
    # |error of delta| <= 4 eps spread; the rest is relative to the terms themselves
    steep = factor * (instance.lambda1 + instance.lambda2 * np.abs(factor * delta))
    slope = omega * steep + np.abs(flow)
    rounding = 8 * EPS * ((slope * spread).sum() + value.sum() + conjugate.sum())
    return float(value.sum()), float(gap), float(rounding)


def _node_terms(
    instance: Instance, signal: Array, flow: Array, bounds: Bounds | None, products: Products
) -> tuple[float, float, float]:
    weight, missing = instance.data_weight, instance.is_missing
    divergence, noise = products.divergence(flow)
    noise = EPS * noise
    if instance.terms is not None:
        assert bounds is not None
        pair = (signal, -divergence)
        data = instance.terms.value(weight, instance.x, signal)
        return data, *instance.terms.gap(weight, instance.x, pair, bounds, noise)
    residual = weight * (signal - instance.x) + divergence
    noise = noise + 4 * EPS * weight * products.away(signal)
    inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=~missing)
    gap = float((inverse * residual**2).sum() / 2)
    rounding = float((inverse * (np.abs(residual) * noise + noise**2)).sum())
    if len(instance.missing):
        assert bounds is not None
        left = divergence[missing]
        extra, reach = missing_terms(signal[missing], left, bounds.at(missing))
        gap += extra
        rounding += float((reach * (noise[missing] + 4 * EPS * np.abs(left))).sum())
    data = float((weight * (signal - instance.x) ** 2).sum() / 2)
    return data, gap, rounding


def missing_terms(signal: Array, divergence: Array, box: Bounds) -> tuple[float, Array]:
    """What nodes without data add to the gap, and how much an error of K'V at each would."""
    far = np.where(divergence > 0, box.low, box.high)
    reach = np.abs(signal) + np.maximum(np.abs(box.low), np.abs(box.high))
    return float(((signal - far) * divergence).sum()), reach


def lengths(instance: Instance, rows: Array) -> Array:
    """The lengths of the rows in the problem's norm."""
    if instance.entrywise:
        return np.abs(rows)
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    far = ~((size > SHORTEST) & (size < 1 / SHORTEST))[:, 0]
    if far.any():
        size[far] = _far_lengths(rows[far])
    return np.asarray(size)


def _far_lengths(rows: Array) -> Array:
    """Lengths whose squares leave the range of float64."""
    largest = np.abs(rows).max(1, keepdims=True, initial=0.0)
    unit = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
    return np.asarray(unit * np.linalg.norm(rows / unit, axis=1, keepdims=True))


def project_flow(instance: Instance, flow: Array) -> Array:
    """The flow with every row of |V| <= lambda1 omega; unchanged if lambda2 > 0."""
    if instance.lambda2 > 0:
        return np.where(instance.row_weight[:, None] > 0, flow, 0.0)
    radius = instance.lambda1 * instance.row_weight[:, None]
    reach = lengths(instance, flow / instance.channel_factor)
    if (reach <= radius).all():
        return flow.copy()
    factor = np.divide(radius, reach, out=np.ones_like(reach), where=reach > radius)
    return np.asarray(flow * np.minimum(factor, 1.0))
