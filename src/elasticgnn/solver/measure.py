"""Objective and duality gap of a pair (F, V) with a bound on the rounding of both.

The gap is summed from terms that are each >= 0, not taken as a difference of two large numbers:

    sum_r [omega phi(delta_r) + omega phi*(V_r / omega) - <V_r, delta_r>]      Fenchel-Young, rows
  + sum_i |c_i (F_i - X_i) + (K'V)_i|^2 / (2 c_i)                              Fenchel-Young, nodes

with phi(delta) = lambda1 |delta| + lambda2/2 |delta|^2 and V = omega W the flow of the folded dual.
Where c_i = 0 the node's term is <F_i, (K'V)_i> - min over the box `bounds` of <., (K'V)_i>:
valid because some optimum lies in that box (solver/missing.py).
"""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.instance import Array, Instance

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Measure:
    """gap >= P(F) - min P, its rounding included; `rounding` alone is the smallest possible gap."""

    objective: float
    gap: float
    rounding: float

    @property
    def relative_gap(self) -> float:
        """gap / objective; the gap itself when the objective is 0."""
        return self.gap / self.objective if self.objective > 0 else self.gap

    def reaches(self, rtol: float) -> bool:
        """Whether the relative gap is at most rtol, or as small as rounding lets it be."""
        return self.gap <= max(rtol * self.objective, 2 * self.rounding)


@dataclass(frozen=True)
class Bounds:
    """A box that holds an optimum at the missing nodes: (missing, d) each."""

    low: Array
    high: Array


def measure(
    instance: Instance, signal: Array, flow: Array, bounds: Bounds | None = None
) -> Measure:
    """The certificate of signal F (n, d) and flow V (r, d); V must keep its ball if lambda2 = 0."""
    penalty, row_gap, row_rounding = _row_terms(instance, signal, flow)
    data, node_gap, node_rounding = _node_terms(instance, signal, flow, bounds)
    objective = penalty + data
    rounding = row_rounding + node_rounding + 8 * EPS * (row_gap + node_gap)
    return Measure(objective, row_gap + node_gap + rounding, rounding)


def _row_terms(instance: Instance, signal: Array, flow: Array) -> tuple[float, float, float]:
    operator, omega = instance.operator, instance.row_weight[:, None]
    delta = operator @ signal
    size, reach = _lengths(instance, delta), _lengths(instance, flow)
    value = omega * (instance.lambda1 * size + instance.lambda2 / 2 * size**2)
    conjugate = np.zeros_like(reach)
    if instance.lambda2 > 0:
        beyond = np.maximum(reach - instance.lambda1 * omega, 0)
        conjugate = np.divide(
            beyond**2, 2 * instance.lambda2 * omega, out=conjugate, where=omega > 0
        )
    inner = delta * flow
    if not instance.entrywise:
        inner = inner.sum(1, keepdims=True)
    gap = np.maximum(value + conjugate - inner, 0).sum()
    # |error of delta| <= 4 eps |K||F|; the rest is relative to the terms themselves
    spread = abs(operator) @ np.abs(signal)
    slope = omega * (instance.lambda1 + instance.lambda2 * np.abs(delta)) + np.abs(flow)
    rounding = 8 * EPS * ((slope * spread).sum() + value.sum() + conjugate.sum())
    return float(value.sum()), float(gap), float(rounding)


def _node_terms(
    instance: Instance, signal: Array, flow: Array, bounds: Bounds | None
) -> tuple[float, float, float]:
    weight = instance.data_weight[:, None]
    seen = weight > 0
    divergence = instance.adjoint @ flow
    residual = weight * (signal - instance.x) + divergence
    noise = EPS * _node_noise(instance, signal, flow)
    inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=seen)
    gap = float((inverse * residual**2).sum() / 2)
    rounding = float((inverse * (np.abs(residual) * noise + noise**2)).sum())
    if len(instance.missing):
        assert bounds is not None
        pull, low, high = divergence[instance.missing], bounds.low, bounds.high
        far = np.where(pull > 0, low, high)
        gap += float(((signal[instance.missing] - far) * pull).sum())
        reach = np.abs(signal[instance.missing]) + np.maximum(np.abs(low), np.abs(high))
        rounding += float((reach * (noise[instance.missing] + 4 * EPS * np.abs(pull))).sum())
    data = float((weight * (signal - instance.x) ** 2).sum() / 2)
    return data, gap, rounding


def _node_noise(instance: Instance, signal: Array, flow: Array) -> Array:
    """Bound on the error of a node's residual, in units of eps."""
    weight = instance.data_weight[:, None]
    entries = np.diff(instance.adjoint.indptr)[:, None] + 4
    return np.asarray(
        4 * weight * (np.abs(signal) + np.abs(instance.x))
        + entries * (abs(instance.adjoint) @ np.abs(flow))
    )


def _lengths(instance: Instance, rows: Array) -> Array:
    if instance.entrywise:
        return np.abs(rows)
    return np.asarray(np.linalg.norm(rows, axis=1, keepdims=True))


def keep_in_ball(instance: Instance, flow: Array) -> Array:
    """The flow with every row of |V| <= lambda1 omega; unchanged if lambda2 > 0."""
    if instance.lambda2 > 0:
        return np.where(instance.row_weight[:, None] > 0, flow, 0.0)
    radius = instance.lambda1 * instance.row_weight[:, None]
    reach = _lengths(instance, flow)
    factor = np.divide(radius, reach, out=np.ones_like(reach), where=reach > radius)
    return np.asarray(flow * np.minimum(factor, 1.0))
