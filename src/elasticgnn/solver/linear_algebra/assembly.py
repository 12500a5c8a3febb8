"""The node system C + K' G K of the interior point method: its numbers, and its factors."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.kernels import native
from elasticgnn.solver.linear_algebra.factor import WIDEST_BAND, BandFactor, Factor, build_factor
from elasticgnn.solver.linear_algebra.fill import check_product
from elasticgnn.solver.linear_algebra.pattern import Index, Pattern
from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.mesh import loops

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COMPILED_CHANNELS: int = getattr(native, "INTERIOR_CHANNELS", 0)  # 0: no loops, or older ones


@dataclass(frozen=True)
class Rows:
    """A matrix by rows as the compiled loops read it; keeps its arrays alive."""

    start: NDArray[np.int32]
    column: NDArray[np.int32]
    value: Array

    @cached_property
    def handle(self) -> object:
        """The matrix as the compiled loops take it."""
        return loops().Sparse(len(self.start) - 1, self.start, self.column, self.value)


def as_rows(matrix: "csr_array") -> Rows:
    """A scipy matrix as the compiled loops read it."""
    start, column = (a.astype(np.int32, copy=False) for a in (matrix.indptr, matrix.indices))
    return Rows(start, column, np.asarray(matrix.data, dtype=np.float64))


class NodeSystem:
    """C + K' G K on (n d) unknowns, G a block (d, d) per row; compiled up to eight channels."""

    def __init__(self, operator: "csr_array", adjoint: "csr_array", channels: int) -> None:
        self.operator, self.channels = operator, channels
        self.transposed = adjoint
        self.rows, self.adjoint = as_rows(operator), as_rows(adjoint)
        self.compiled = channels <= COMPILED_CHANNELS
        width = _row_span(self.rows) * channels + channels - 1
        if width <= WIDEST_BAND:
            self.factor: Factor = BandFactor(operator.shape[1], channels, width)
        else:
            check_product(operator)
            self.factor = build_factor(self.pattern)

    @cached_property
    def _terms(self) -> tuple[Index, Index, Rows]:
        """Rows and columns of the pattern, and the matrix that sums G into its entries."""
        if not COMPILED_CHANNELS:
            return _plain_terms(self.operator)
        pair = (self.rows.handle, self.adjoint.handle)
        row, column, *sums = loops().interior_pattern(*pair)
        return row, column, Rows(*sums)

    @cached_property
    def pattern(self) -> Pattern:
        """The lower triangle."""
        row, column, _ = self._terms
        return Pattern(self.operator.shape[1], self.channels, row, column)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """(e, d d) of the pattern's numbers in the factor's room; -1 above the diagonal."""
        return np.ascontiguousarray(self.factor.places(self.pattern), dtype=np.int64)

    @cached_property
    def target(self) -> object:
        """Where the compiled loops put the numbers."""
        room = self.factor.room
        if isinstance(self.factor, BandFactor):
            return loops().Assembly(room.shape[1] - 1, room.size, room, self.factor.position)
        sums = self._terms[2].handle
        return loops().Assembly(sums, self.pattern.diagonal, self.place, room.size, room)

    def factorise(self, data_weight: Array, curvature: Array) -> None:
        """`curvature` G is (r, d, d), `data_weight` C is (n, d)."""
        d = self.channels
        if not self.compiled:
            self._assemble(data_weight, curvature.reshape(len(curvature), d * d))
        else:
            lower, weight = np.tril_indices(d), np.ascontiguousarray(data_weight)
            blocks = np.ascontiguousarray(curvature[:, lower[0], lower[1]])
            pair = (self.rows.handle, self.adjoint.handle)
            loops().interior_assemble(d, *pair, blocks, weight, self.target)
        self.factor.factorise()

    def _assemble(self, data_weight: Array, curvature: Array) -> None:
        """The definition, in numpy."""
        from scipy.sparse import csr_array

        sums, d = self._terms[2], self.channels
        shape = (len(self.pattern.row), len(curvature))
        matrix = csr_array((sums.value, sums.column, sums.start), shape=shape)
        blocks = np.asarray(matrix @ curvature)
        blocks[self.pattern.diagonal[:, None], np.arange(d) * (d + 1)] += data_weight
        room, kept = self.factor.room.reshape(-1), self.place.reshape(-1) >= 0
        room[:] = 0.0
        room[self.place.reshape(-1)[kept]] = blocks.reshape(-1)[kept]

    def solve(self, right: Array) -> Array:
        """For a right side (n, d), which may be overwritten."""
        return self.factor.solve(right.reshape(-1)).reshape(right.shape)

    def differences(self, signal: Array, low: Array) -> Array:
        """K F (r, d); the low part of a signal says nothing in float64."""
        del low
        return np.asarray(self.operator @ signal)

    def divergence(self, flow: Array) -> Array:
        """K' V (n, d)."""
        return np.asarray(self.transposed @ flow)

    def solve_pair(self, right: Array) -> tuple[Array, Array]:
        """The solution and a low part of 0, as solver/interior_point/precise.py has them."""
        return self.solve(right), np.zeros_like(right)


def _row_span(rows: Rows) -> int:
    """The most by which two nodes of one row differ."""
    filled = rows.start[:-1][np.diff(rows.start) > 0]
    if not len(filled):
        return 0
    most, least = (pick.reduceat(rows.column, filled) for pick in (np.maximum, np.minimum))
    return int((most - least).max())


def _plain_terms(operator: "csr_array") -> tuple[Index, Index, Rows]:
    """As the compiled `interior_pattern`: all pairs of a row's nodes, sorted and counted."""
    from scipy.sparse import csr_array

    rows, nodes = operator.shape
    count = np.diff(operator.indptr)
    diagonal = np.arange(nodes)
    low, high, source, factor = [diagonal], [diagonal], [np.zeros(nodes, int)], [np.zeros(nodes)]
    for size in np.unique(count):
        members = np.flatnonzero(count == size)
        places = operator.indptr[members][:, None] + np.arange(size)
        a, b = np.triu_indices(size)
        ends = operator.indices[places]
        low.append(np.minimum(ends[:, a], ends[:, b]).ravel())
        high.append(np.maximum(ends[:, a], ends[:, b]).ravel())
        entries = operator.data[places]
        factor.append((entries[:, a] * entries[:, b]).ravel())
        source.append(np.repeat(members, len(a)))
    values, origin = np.concatenate(factor), np.concatenate(source)
    key = np.concatenate(low).astype(np.int64) * nodes + np.concatenate(high)
    kept = (values != 0) | (np.arange(len(values)) < nodes)  # the whole diagonal
    unique, place = np.unique(key[kept], return_inverse=True)
    values, origin = values[kept], origin[kept]
    used = values != 0
    sums = csr_array((values[used], (place[used], origin[used])), shape=(len(unique), rows))
    return unique % nodes, unique // nodes, as_rows(sums)
