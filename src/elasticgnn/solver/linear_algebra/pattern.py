"""Where a symmetric matrix of blocks has numbers, and an order in which its band is narrow."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp] | NDArray[np.int32]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Pattern:
    """The blocks (d, d) of a lower triangle: row >= column, by column, then row; whole diagonal."""

    nodes: int
    channels: int
    row: Index
    column: Index

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return self.nodes * self.channels

    @property
    def ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Rows and columns as the compiled loops read them."""
        row, column = (np.ascontiguousarray(e, np.int32) for e in (self.row, self.column))
        return row, column

    @cached_property
    def diagonal(self) -> NDArray[np.int32]:
        """The entry of each node's own block."""
        return np.flatnonzero(self.row == self.column).astype(np.int32)

    @cached_property
    def wide_row(self) -> Places:
        """(e, d d): the unknown of each number's row."""
        entry = np.arange(self.channels)
        wide = self.row.astype(np.int64)[:, None, None] * self.channels + entry[:, None]
        return np.broadcast_to(wide, (len(self.row), *2 * [self.channels])).reshape(
            len(self.row), -1
        )

    @cached_property
    def wide_column(self) -> Places:
        """(e, d d): the unknown of each number's column."""
        entry = np.arange(self.channels)
        wide = self.column.astype(np.int64)[:, None, None] * self.channels + entry
        return np.broadcast_to(wide, (len(self.row), *2 * [self.channels])).reshape(
            len(self.row), -1
        )

    @cached_property
    def is_lower(self) -> NDArray[np.bool_]:
        """(e, d d): whether a number lies on or below the diagonal."""
        return self.wide_row >= self.wide_column


def bandwidth(pattern: Pattern, position: Index) -> int:
    """Of the unknowns, with the nodes at these positions; the diagonal is not counted."""
    hops = int(np.abs(position[pattern.row] - position[pattern.column]).max(initial=0))
    return hops * pattern.channels + pattern.channels - 1


def band_order(pattern: Pattern) -> NDArray[np.int32]:
    """The position of each node in an order with a narrow band, as far as there is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    ones = np.ones(len(pattern.row), dtype=np.int8)
    lower = csr_array((ones, (pattern.row, pattern.column)), shape=(pattern.nodes,) * 2)
    order = reverse_cuthill_mckee(csr_array(lower + lower.T), symmetric_mode=True)
    position = np.empty(pattern.nodes, dtype=np.int32)
    position[order] = np.arange(pattern.nodes)
    return position
