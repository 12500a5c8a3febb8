"""The node system C + K' G K of the interior point method: its pattern and its values."""

from typing import TYPE_CHECKING

import numpy as np

from elasticgnn.solver.factor import Index, Pattern
from elasticgnn.solver.geometry import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class NodeSystem:
    """Values of the lower triangle of C + K' G K on (n d) unknowns, G a block (d, d) per row."""

    def __init__(self, operator: "csr_array", channels: int) -> None:
        self.nodes, self.channels = operator.shape[1], channels
        row, column, self.sums = _pairs(operator)
        self.diagonal = np.flatnonzero(row == column)
        entry = np.arange(channels)
        # blocks below the diagonal are full, those on it lower triangles
        first, second = np.broadcast_arrays(entry[:, None], entry[None, :])
        wide_row = row[:, None, None] * channels + first
        wide_column = column[:, None, None] * channels + second
        kept = np.flatnonzero((wide_row >= wide_column).ravel())
        rows, columns = wide_row.ravel()[kept], wide_column.ravel()[kept]
        order = np.lexsort((rows, columns))
        self.source: Index = kept[order]
        self.pattern = Pattern(self.nodes * channels, rows[order], columns[order])

    def values(self, data_weight: Array, curvature: Array) -> Array:
        """In the order of the pattern; `curvature` G is (r, d, d), `data_weight` C is (n, d)."""
        d = self.channels
        blocks = self.sums @ curvature.reshape(len(curvature), d * d)
        blocks[self.diagonal[:, None], np.arange(d) * (d + 1)] += data_weight
        return np.asarray(blocks.ravel()[self.source])


def _pairs(operator: "csr_array") -> tuple[Index, Index, "csr_array"]:
    """Row and column of the node pattern (lower), and the matrix that sums rows into it."""
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
    key = np.concatenate(low).astype(np.int64) * nodes + np.concatenate(high)
    unique, place = np.unique(key, return_inverse=True)
    values, origin = np.concatenate(factor), np.concatenate(source)
    live = values != 0
    sums = csr_array((values[live], (place[live], origin[live])), shape=(len(unique), rows))
    return unique % nodes, unique // nodes, sums
