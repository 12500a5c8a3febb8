"""Numbers of twice the digits, as pairs of arrays (high, low), and difference operators in them.

Weights over many decades make the entries of trend operators nearly cancel: what float64 leaves of
a constant's differences is then more than what the data weigh.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from elasticgnn.graph import Graph
from elasticgnn.solver.problem.geometry import Array, Geometry
from elasticgnn.solver.problem.mesh import loops

Pair = tuple[Array, Array]
Places = NDArray[np.int64]
SPLIT = 134217729.0  # 2^27 + 1
LOST = 2.0**-96  # of the sum of what is added, per entry: some forty operations of 2^-104 each


def exact_sum(a: Array, b: Array) -> Pair:
    """a + b, rounded, and what rounding took (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def exact_product(a: Array, b: Array) -> Pair:
    """a b, rounded, and what rounding took (Dekker)."""
    wide_a, wide_b = SPLIT * a, SPLIT * b
    a1, b1 = wide_a - (wide_a - a), wide_b - (wide_b - b)
    a2, b2, product = a - a1, b - b1, a * b
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def plus(a: Pair, b: Pair) -> Pair:
    """The sum of two pairs."""
    high, low = exact_sum(a[0], b[0])
    return exact_sum(high, low + (a[1] + b[1]))


def times(a: Pair, b: Array) -> Pair:
    """A pair times plain numbers."""
    high, low = exact_product(a[0], b)
    return exact_sum(high, low + a[1] * b)


def over(a: Pair, b: Pair) -> Pair:
    """The quotient of two pairs."""
    first = a[0] / b[0]
    left = plus(a, times(b, -first))
    return exact_sum(first, left[0] / b[0])


@dataclass(frozen=True)
class TwofoldMatrix:
    """A matrix by rows; keeps alive the arrays whose addresses the compiled loops hold."""

    start: NDArray[np.int32]
    column: NDArray[np.int32]
    high: Array
    low: Array

    @cached_property
    def row(self) -> Places:
        """The row of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def handle(self) -> object:
        """The matrix as the compiled loops take it."""
        arrays = (self.start, self.column, self.high, self.low)
        return loops().TwofoldRows(len(self.start) - 1, *arrays)

    def part(self, rows: NDArray[np.intp]) -> "TwofoldMatrix":
        """Some of the rows, in their order."""
        renumbered = np.full(len(self.start) - 1, -1)
        renumbered[rows] = np.arange(len(rows))
        kept = renumbered[self.row] >= 0
        entries = (self.high[kept], self.low[kept])
        return summed(
            len(rows), renumbered[self.row[kept]], self.column[kept].astype(np.int64), entries
        )

    def transposed(self, columns: int) -> "TwofoldMatrix":
        """The matrix by columns, of which it has so many."""
        return summed(columns, self.column.astype(np.int64), self.row, (self.high, self.low))


def summed(rows: int, row: Places, column: Places, entries: Pair) -> TwofoldMatrix:
    """The matrix of entries in any order, those of one place added up."""
    order = np.lexsort((column, row))
    row, column, high, low = row[order], column[order], entries[0][order], entries[1][order]
    fresh = np.ones(len(row), dtype=bool)
    fresh[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    first, place = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    total = high[first], low[first]
    rank = np.arange(len(row)) - first[place] if len(row) else place
    for k in range(1, int(rank.max(initial=0)) + 1):
        these = np.flatnonzero(rank == k)
        at = place[these]
        total[0][at], total[1][at] = plus((total[0][at], total[1][at]), (high[these], low[these]))
    start = np.concatenate([[0], np.cumsum(np.bincount(row[first], minlength=rows))])
    return TwofoldMatrix(start.astype(np.int32), column[first].astype(np.int32), *total)


class TwofoldProducts:
    """Products with a matrix and with its transpose, exact but for the last rounding.

    Every sum is one of pairs, so that what cancels leaves LOST of what stood there; numbers that
    come in are taken as exact.
    """

    def __init__(self, operator: TwofoldMatrix, nodes: int) -> None:
        self.operator, self.adjoint = operator, operator.transposed(nodes)

    def differences(self, signal: Array, low: Array | None = None) -> Array:
        """K F (r, d), rounded at the end."""
        return _product(self.operator, signal, low)

    def divergence(self, flow: Array) -> Array:
        """K' V (n, d), rounded at the end."""
        return _product(self.adjoint, flow, None)


def _product(matrix: TwofoldMatrix, high: Array, low: Array | None) -> Array:
    high = np.ascontiguousarray(high, np.float64)
    low = np.zeros_like(high) if low is None else np.ascontiguousarray(low)
    out = np.empty((len(matrix.start) - 1, high.shape[1]))
    loops().precise_multiply(matrix.handle, high.shape[1], high, low, out)
    return out


def twofold_operator(geometry: Geometry) -> TwofoldMatrix:
    """K of solver/problem/trend.py without the rounding of its entries."""
    graph = geometry.graph
    if geometry.boundary == "free" or geometry.order == 0:  # its entries are exact
        plain = geometry.operator.tocoo()
        ends = plain.row.astype(np.int64), plain.col.astype(np.int64)
        return summed(plain.shape[0], *ends, (plain.data, np.zeros_like(plain.data)))
    laplacian = _laplacian(graph, geometry.scale)
    return laplacian if geometry.order == 1 else _along_edges(graph, geometry.scale, laplacian)


def _ends(graph: Graph) -> tuple[Places, Places]:
    return graph.tail.cpu().numpy(), graph.head.cpu().numpy()


def _laplacian(graph: Graph, scale: Array) -> TwofoldMatrix:
    """K0' diag(w) K0."""
    weight, (tail, head) = graph.weight.detach().double().cpu().numpy(), _ends(graph)
    by_tail, by_head = exact_product(weight, scale[tail]), exact_product(weight, scale[head])
    across = times(by_tail, -scale[head])
    own = times(by_tail, scale[tail]), times(by_head, scale[head])
    values = [np.concatenate(parts) for parts in zip(*own, across, across, strict=True)]
    row, column = np.concatenate([tail, head, tail, head]), np.concatenate([tail, head, head, tail])
    return summed(graph.num_nodes, row, column, (values[0], values[1]))


def _along_edges(graph: Graph, scale: Array, matrix: TwofoldMatrix) -> TwofoldMatrix:
    """s_i times row i minus s_j times row j, for each edge."""
    rows, columns, high, low = [], [], [], []
    for ends, sign in zip(_ends(graph), (1.0, -1.0), strict=True):
        count = np.diff(matrix.start)[ends]
        edge = np.repeat(np.arange(len(ends)), count)
        before = np.repeat(np.cumsum(count) - count, count)
        entry = matrix.start[ends][edge] + np.arange(len(edge)) - before
        value = times((matrix.high[entry], matrix.low[entry]), sign * scale[ends][edge])
        rows.append(edge)
        columns.append(matrix.column[entry].astype(np.int64))
        high.append(value[0])
        low.append(value[1])
    edge, column = np.concatenate(rows), np.concatenate(columns)
    return summed(graph.num_edges, edge, column, (np.concatenate(high), np.concatenate(low)))
