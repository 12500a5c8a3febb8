"""The problem with every piece of a signal made one node: small, and solved nearly for free.

Signals that are constant on the pieces have the same objective (up to a constant) in a graph with
one node per piece, whose edges carry the summed weights of the edges between two pieces. Its
solution is the best signal with these pieces; the ascent's own average over pieces is not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.instance import Array
from elasticgnn.solver.native import NativeAscent, Scaled, build_mesh

BLOCK = 250
BLOCKS = 6


@dataclass(frozen=True)
class Coarse:
    """The contracted problem and the flow that the fine one sends between its pieces."""

    scaled: Scaled
    flow: Array


def contract(
    scaled: Scaled, data: tuple[Array, Array], label: NDArray[np.int32], count: int, flow: Array
) -> Coarse:
    """One node per piece; `data` are the stiffness and centre that the ascent works with."""
    stiff, center = data
    total: Array = np.bincount(label, stiff, count).astype(np.float64)
    sums = [np.bincount(label, stiff * column, count) for column in center.T]
    ends = label[scaled.mesh.tail], label[scaled.mesh.head]
    cross = np.flatnonzero(ends[0] != ends[1])
    low, high = np.minimum(*ends)[cross].astype(np.int64), np.maximum(*ends)[cross]
    keys, place = np.unique(low * count + high, return_inverse=True)
    sign = np.where(ends[0][cross] == low, 1.0, -1.0)
    tail, head = (keys // count).astype(np.int32), (keys % count).astype(np.int32)
    weight: Array = np.bincount(place, scaled.weight[cross], len(keys)).astype(np.float64)
    columns = [np.bincount(place, sign * column[cross], len(keys)) for column in flow.T]
    rows = Scaled(
        build_mesh(tail, head, count),
        np.ascontiguousarray(np.stack(sums, 1) / total[:, None]),
        total,
        weight,
        scaled.lambda1,
        scaled.lambda2,
        scaled.entrywise,
    )
    shape = (len(keys), scaled.channels)
    return Coarse(rows, np.ascontiguousarray(np.stack(columns, 1).reshape(shape), dtype=np.float64))


def solve_coarse(coarse: Coarse, target: float) -> Array:
    """The signal of the contracted problem once its own gap is below `target`, or nearly."""
    scaled = coarse.scaled
    ascent = NativeAscent(scaled, scaled.stiff, scaled.center, np.float64)
    ascent.load(scaled.kept(coarse.flow))
    best, least = scaled.center, np.inf
    for _ in range(BLOCKS):
        ascent.advance(BLOCK)
        flow = scaled.kept(ascent.flow)
        signal = scaled.signal_of(flow, scaled.center, scaled.stiff)
        measure, _ = scaled.terms(signal, flow)
        if measure.gap < least:
            best, least = signal, measure.gap
        if least <= target:
            break
    return best
