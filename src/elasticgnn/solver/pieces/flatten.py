"""Rows that are nearly flat made exactly flat, where the flow says that they are."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.certificate.measure import lengths
from elasticgnn.solver.pieces.spread import usual_rows
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.null_space import component_constants, without_rows

SATURATED = 0.9999  # of its ball: a flow this long belongs to a row that is not zero


def flattened(instance: Instance, signal: Array, flow: Array) -> Array:
    """The signal averaged over the pieces that its flow joins; trends if all their rows are flat.

    At an optimum a flow strictly inside its ball means that its edge carries no difference. Of a
    point near the optimum both are small or not: the larger of the room that the flow has left and
    of the difference, each as a share of what is usual, says which one is zero.
    """
    if instance.lambda1 == 0 or not instance.num_rows:
        return signal
    if not instance.is_plain:
        return _straightened(
            *(instance, signal, flow),
            lambda: without_rows(instance, instance.x, instance.data_weight),
        )
    scaled = signal * instance.scale[:, None]
    flat = flat_rows(instance, _jumps(instance, scaled), flow)
    out = np.empty_like(scaled)
    for k in range(flat.shape[1]):
        columns = slice(k, k + 1) if instance.entrywise else slice(None)
        out[:, columns] = _averaged(instance, scaled, flat[:, k], columns)
    return np.asarray(out / instance.scale[:, None])


def flat_rows(instance: Instance, rows: Array, flow: Array) -> NDArray[np.bool_]:
    """Which rows (r, 1), or entries of them (r, d), are zero at the optimum."""
    size = lengths(instance, rows * instance.channel_factor)
    radius = instance.lambda1 * instance.row_weight[:, None]
    reach = lengths(instance, flow / instance.channel_factor)
    room = np.divide(radius - reach, radius, out=np.zeros_like(size), where=radius > 0)
    return np.asarray((room > size / usual_rows(instance)) & (radius > 0))


def _jumps(instance: Instance, scaled: Array) -> Array:
    """Differences of U = s F along edges."""
    tail, head = instance.graph.tail.cpu().numpy(), instance.graph.head.cpu().numpy()
    return np.asarray(scaled[tail] - scaled[head])


def _straightened(
    instance: Instance, signal: Array, flow: Array, fit: Callable[[], Array]
) -> Array:
    """The signal with the fit without differences in the channels where all of them are zero."""
    straight = _straight(instance, signal, flow)
    return np.where(straight, fit(), signal) if straight.any() else signal


def _straight(instance: Instance, signal: Array, flow: Array) -> NDArray[np.bool_]:
    """Channels, (d,) or (1,), of a trend in which all differences are zero."""
    reach = lengths(instance, flow / instance.channel_factor)
    knots = reach > SATURATED * instance.lambda1 * instance.row_weight[:, None]
    if knots.any(0).all():  # the usual case, without the rest of the work
        return np.zeros(reach.shape[1], dtype=bool)
    rows = np.asarray(instance.operator @ signal)
    flat = flat_rows(instance, rows, flow)[instance.row_weight > 0].all(0)
    return np.asarray(flat & rows.any())  # what has no difference at all needs no rounding


def merged(instance: Instance, signal: Array, flow: Array, held: NDArray[np.bool_]) -> Array:
    """The signal with one value per piece: the mean of its `held` entries, else of all.

    For losses whose best value of a piece is no weighted mean: entries nearly agree already.
    """
    if instance.lambda1 == 0 or not instance.num_rows:
        return signal
    if not instance.is_plain:
        return _straightened(
            *(instance, signal, flow),
            lambda: without_rows(instance, signal, _heavy(instance, held)),
        )
    scaled = signal * instance.scale[:, None]
    flat, out = flat_rows(instance, _jumps(instance, scaled), flow), np.empty_like(scaled)
    for k in range(scaled.shape[1]):
        count, label = _pieces(instance, flat[:, min(k, flat.shape[1] - 1)])
        kept = held[:, k].astype(np.float64)
        heavy = np.where(np.bincount(label, kept, count)[label] > 0, kept, 1.0)
        mass = np.bincount(label, heavy, count)
        out[:, k] = (np.bincount(label, heavy * scaled[:, k], count) / mass)[label]
    return np.asarray(out / instance.scale[:, None])


def _heavy(instance: Instance, held: NDArray[np.bool_]) -> Array:
    """1 for the `held` entries of a component, for all entries of one that holds none."""
    labels, kept = instance.geometry.component, held.astype(np.float64)
    for column in kept.T:
        column[np.bincount(labels, column)[labels] == 0] = 1.0
    return kept


def _pieces(instance: Instance, flat: NDArray[np.bool_]) -> tuple[int, NDArray[np.int32]]:
    """How many pieces the flat edges make, and the piece of each node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    edges = np.flatnonzero(flat)
    tail, head = instance.geometry.mesh.tail[edges], instance.geometry.mesh.head[edges]
    shape = (len(instance.x), len(instance.x))
    links = csr_array((np.ones(len(edges), dtype=np.int8), (tail, head)), shape=shape)
    count, label = connected_components(links, directed=False)
    return int(count), label


def component_means(instance: Instance) -> Array:
    """The best flat signal: s F is constant in every component and channel."""
    return component_constants(instance, instance.x, instance.data_weight)


def constant_fit(instance: Instance) -> Array | None:
    """One value per component and channel that fits all data without any loss, if there is one."""
    geometry, terms = instance.geometry, instance.terms
    if not geometry.flat_constants or (terms is not None and terms.sparsity > 0):
        return None
    out = np.empty_like(instance.x)
    for k, column in enumerate(instance.x.T):
        seen = np.flatnonzero(~instance.is_missing[:, k])
        first = np.zeros(int(geometry.component.max(initial=-1)) + 1, dtype=np.intp)
        first[geometry.component[seen[::-1]]] = seen[::-1]
        out[:, k] = column[first[geometry.component]]
        if not np.array_equal(out[seen, k], column[seen]):
            return None
    if terms is not None:
        out = terms.loss.best(np.zeros_like(out), out)
        outside = (out < terms.lower) | (out > terms.upper) | ~np.isfinite(out)
        return None if outside.any() else out
    return out


def _averaged(instance: Instance, scaled: Array, flat: NDArray[np.bool_], columns: slice) -> Array:
    count, label = _pieces(instance, flat)
    weight = instance.data_weight[:, columns] / instance.scale[:, None] ** 2
    out = np.empty(weight.shape)
    for k, (column, heavy) in enumerate(zip(scaled[:, columns].T, weight.T, strict=True)):
        mass = np.bincount(label, heavy, count)
        # a piece without data keeps the mean of its own values
        heavy = np.where(mass[label] > 0, heavy, 1.0)
        out[:, k] = (np.bincount(label, heavy * column, count) / np.bincount(label, heavy, count))[
            label
        ]
    return out


def largest_flow(instance: Instance) -> float:
    """More than any flow needs: a larger ball changes nothing but the conditioning.

    A flow carries what the data send, at most their sum over the least scale. Each order more asks
    for a potential of that first: along a path it grows by the flow over the edge's weight.
    """
    edges = instance.graph.weight.detach().double().cpu().numpy()
    least = 1.0
    if instance.geometry.boundary == "graph":
        least = min(float(edges[edges > 0].min(initial=1.0)), 1.0)
    total = float((instance.data_weight * np.abs(instance.x)).sum())
    scale = min(float(instance.scale.min(initial=1.0)), 1.0)
    with np.errstate(over="ignore"):  # inf: no ball is that large
        reach = np.float64(len(instance.x) / least) ** instance.order
        return float(4 * total / scale ** (2 + instance.order) * reach)


def flat_strength(instance: Instance) -> float:
    """A lambda1 from which on the answer is flat for certain."""
    live = instance.row_weight[instance.row_weight > 0]
    return largest_flow(instance) / float(live.min(initial=np.inf)) if len(live) else 0.0
