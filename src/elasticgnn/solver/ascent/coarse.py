"""The problem with every piece of a signal made one node: small, and solved nearly for free.

Signals that are constant on the pieces have the same objective (up to a constant) in a graph with
one node per piece, whose edges carry the summed weights of the edges between two pieces. Its
solution is the best signal with these pieces; the ascent's own average over pieces is not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.ascent.native import NativeAscent, Pieces, Scaled
from elasticgnn.solver.problem.instance import Array
from elasticgnn.solver.problem.mesh import build_mesh

BLOCK = 250
BLOCKS = 6


@dataclass(frozen=True)
class Coarse:
    """The contracted problem and the flow that the fine one sends between its pieces."""

    scaled: Scaled
    flow: Array


def contract(scaled: Scaled, data: tuple[Array, Array], pieces: Pieces, flow: Array) -> Coarse:
    """One node per piece of rows; `data` are the stiffness and centre that the ascent uses."""
    (stiff, center), label, count = data, pieces.label[:, 0], pieces.count
    total: Array = np.bincount(label, stiff, count).astype(np.float64)
    ends = label[scaled.mesh.tail], label[scaled.mesh.head]
    cross = np.flatnonzero(ends[0] != ends[1])
    low, high = np.minimum(*ends)[cross].astype(np.int64), np.maximum(*ends)[cross]
    keys, place = np.unique(low * count + high, return_inverse=True)
    sign = np.where(ends[0][cross] == low, 1.0, -1.0)
    tail, head = (keys // count).astype(np.int32), (keys % count).astype(np.int32)
    problem = Scaled(
        build_mesh(tail, head, count),
        _summed(label, stiff[:, None] * center, count) / total[:, None],
        total,
        np.bincount(place, scaled.weight[cross], len(keys)).astype(np.float64),
        scaled.lambda1,
        scaled.lambda2,
        scaled.entrywise,
    )
    return Coarse(problem, _summed(place, sign[:, None] * flow[cross], len(keys)))


def _summed(group: NDArray[np.integer], rows: Array, count: int) -> Array:
    """The rows of each group added up: (count, d)."""
    out = np.empty((count, rows.shape[1]))
    for k, column in enumerate(rows.T):
        out[:, k] = np.bincount(group, column, count)
    return out


def solve_coarse(coarse: Coarse, target: float) -> Array:
    """The signal of the contracted problem once its own gap is below `target`, or nearly."""
    scaled = coarse.scaled
    ascent = NativeAscent(scaled, scaled.stiff, scaled.center, np.float64)
    ascent.load(scaled.projected(coarse.flow))
    best, least = scaled.center, np.inf
    for _ in range(BLOCKS):
        ascent.advance(BLOCK)
        signal, flux = scaled.signal_of(scaled.projected(ascent.flow), scaled.center, scaled.stiff)
        gap = scaled.terms(signal, flux).gap
        if gap < least:
            best, least = signal, gap
        if least <= target:
            break
    return best
