"""Where the interior point method for any loss begins."""

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.interior_point.entries import AbsoluteValue, Barrier
from elasticgnn.solver.interior_point.precise import PreciseSystem
from elasticgnn.solver.linear_algebra.assembly import NodeSystem
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import NodeTerms

EXTENSION = 1e-3  # stiffness that fills missing values for the first point
INWARD = 0.1  # of the data's size, or of the room: how far inside its bounds a start lies
TINY = 1e-300


def first_signal(
    instance: Instance, live: NDArray[np.intp], system: NodeSystem | PreciseSystem
) -> Array:
    """Where the loss begins, missing values filled smoothly, inside the bounds."""
    terms = instance.terms
    assert terms is not None
    signal = terms.loss.start(instance.x)
    if len(instance.missing):
        weight = np.where(instance.is_missing, 1e-9, 1.0)
        curvature = np.full(len(live), EXTENSION)[:, None, None] * np.eye(signal.shape[1])
        system.factorise(weight, curvature)
        right = np.where(instance.is_missing, 0.0, signal)
        filled = system.solve(right)
        signal = np.where(instance.is_missing, filled, signal)
    return inside(terms, signal)


def inside(terms: NodeTerms, signal: Array) -> Array:
    """The signal some way inside its bounds."""
    size = max(float(np.abs(signal).max(initial=0.0)), TINY)
    inward = np.minimum(INWARD * size, INWARD * (terms.upper - terms.lower))
    return np.clip(signal, terms.lower + inward, terms.upper - inward)


def first_mu(
    instance: Instance,
    signal: Array,
    row_terms: Array,
    absolute: list[AbsoluteValue],
    barriers: list[Barrier],
) -> float:
    """The mean of radius times length over rows (`row_terms`), entries and bounds."""
    assert instance.terms is not None
    size, parts = float(np.abs(signal).max(initial=0.0)), [row_terms]
    for term in absolute:
        away = np.abs(signal.ravel()[term.place] - term.offset)
        parts.append(term.radius * (away + INWARD * size))
    if barriers:
        slope = instance.terms.loss.smooth_slope(signal, instance.x)
        slope = np.abs(instance.data_weight * slope).ravel()
        # the loss has no slope where the data lie at its least, and will have
        slope = np.maximum(slope, INWARD * usual_slope(instance, size))
        parts += [barrier.room(signal) * (slope[barrier.place] + TINY) for barrier in barriers]
    every = np.concatenate(parts)
    return max(float(every.mean()) if len(every) else 0.0, TINY)


def usual_slope(instance: Instance, span: float) -> float:
    """The slope of the data's loss: a bound that pushes far less is not touched."""
    assert instance.terms is not None
    loss = instance.terms.loss
    steep = span if loss.power == 2 else 1.0
    return float(instance.data_weight.max(initial=0.0)) * (loss.edge_radius or steep)


def largest_radius(instance: Instance) -> float:
    """More than any flow needs where the data alone have a slope."""
    terms = instance.terms
    assert terms is not None
    wanted = np.clip(terms.loss.start(instance.x), terms.lower, terms.upper)
    bounds = [np.abs(b[np.isfinite(b)]).max(initial=0.0) for b in (terms.lower, terms.upper)]
    largest = float(max(np.abs(instance.x).max(initial=0.0), *bounds)) + 1
    steepest = float(np.abs(terms.loss.smooth_slope(wanted, instance.x)).max(initial=0.0))
    slopes = {0: largest + steepest, 1: 1.0, 2: terms.loss.edge_radius or 2 * largest}
    total = slopes[terms.loss.power] * float(instance.data_weight.sum())
    total += terms.sparsity * instance.x.size
    live = instance.row_weight[instance.row_weight > 0]
    hops = np.float64(len(instance.x) / min(float(live.min(initial=1.0)), 1.0))
    least = float(instance.scale.min(initial=1.0)) ** 2 * min(instance.least_channel_factor, 1.0)
    with np.errstate(over="ignore"):  # inf: no ball is that large
        return float(4 * total / least * hops**instance.order)
