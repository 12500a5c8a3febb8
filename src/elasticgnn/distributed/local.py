"""One process's rows, slots and edges in the order that its loops want."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.distributed.part import Part, rows_of

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class LocalEdges:
    """Rows are ordered interior | boundary | halo; boundary rows have neighbours in the halo.

    Slot p in start[i] .. start[i + 1] - 1 leads from owned row i to column[p] along edge[p],
    neighbours in ascending global id. Row i leads the edges lead[i] .. lead[i + 1] - 1, to rows
    other[e] > i. Halo rows are sorted by owning process, then by global id.
    """

    interior: int
    nodes: Array  # (rows,) int64: global ids
    place: Array  # (owned,) int64: row of each owned node, those in the parts' order
    start: Array
    column: Array
    edge: Array
    lead: Array
    other: Array
    weight: Array | None  # per edge
    halo_rank: Array  # (halo,) int64

    @property
    def owned(self) -> int:
        """Number of nodes of this process."""
        return len(self.place)

    @property
    def num_edges(self) -> int:
        """Number of edges with an end here."""
        return len(self.other)


def build_local(parts: Sequence[Part], rank_of: Callable[[Array], Array]) -> LocalEdges:
    """The rows and edges of the process that owns `parts`; `rank_of` gives the owners of nodes."""
    owned = np.concatenate([part.nodes for part in parts])
    starts = [np.diff(part.start) for part in parts]
    start = np.concatenate([[0], np.cumsum(np.concatenate(starts))])
    neighbour = np.concatenate([part.neighbour for part in parts])
    weight = None
    if parts[0].weight is not None:
        weight = np.concatenate([part.weight for part in parts if part.weight is not None])
    column, halo, halo_rank = number_neighbours(owned, neighbour, rank_of)
    del neighbour
    order, interior = boundary_last(start, column)
    place = np.empty(len(owned), dtype=np.int64)
    place[order] = np.arange(len(owned))
    start, positions = rows_of(start, order)
    rows = np.concatenate([place, np.arange(len(owned), len(owned) + len(halo))]).astype(np.int32)
    column = rows[column[positions]]
    weight = None if weight is None else weight[positions]
    edge, lead, leads = number_edges(start, column)
    return LocalEdges(
        interior=interior,
        nodes=np.concatenate([owned[order], halo]),
        place=place,
        start=start,
        column=column,
        edge=edge,
        lead=lead,
        other=column[leads],
        weight=None if weight is None else weight[leads],
        halo_rank=halo_rank,
    )


def boundary_last(start: Array, column: Array) -> tuple[Array, int]:
    """The owned nodes, those with a neighbour in the halo last, and how many have none."""
    owned = len(start) - 1
    is_boundary = np.zeros(owned, dtype=bool)
    is_boundary[np.repeat(np.arange(owned), np.diff(start))[column >= owned]] = True
    order = np.concatenate([np.flatnonzero(~is_boundary), np.flatnonzero(is_boundary)])
    return order, int((~is_boundary).sum())


def number_neighbours(
    owned: Array, neighbour: Array, rank_of: Callable[[Array], Array]
) -> tuple[Array, Array, Array]:
    """Local numbers of neighbours (owned nodes first, then halo), halo ids, their owners."""
    by_id = np.argsort(owned)
    ids = owned[by_id]
    spot = np.minimum(np.searchsorted(ids, neighbour), max(len(ids) - 1, 0))
    in_halo = np.flatnonzero(ids[spot] != neighbour)
    column = by_id[spot].astype(np.int32)
    halo = np.unique(neighbour[in_halo]).astype(np.int64)
    rank = np.asarray(rank_of(halo), dtype=np.int64)
    by_owner = np.lexsort((halo, rank))
    back = np.empty(len(halo), dtype=np.int32)
    back[by_owner] = np.arange(len(halo), dtype=np.int32)
    column[in_halo] = len(owned) + back[np.searchsorted(halo, neighbour[in_halo])]
    return column, halo[by_owner], rank[by_owner]


def number_edges(start: Array, column: Array) -> tuple[Array, Array, Array]:
    """The edge of every slot, the first edge that each row leads, and the slots that lead."""
    owned = len(start) - 1
    node = np.repeat(np.arange(owned, dtype=np.int32), np.diff(start))
    leads = column > node
    edge = np.cumsum(leads, dtype=np.int32) - 1
    lead = np.zeros(owned + 1, dtype=np.int64)
    np.cumsum(np.bincount(node[leads], minlength=owned), out=lead[1:])
    # an edge between two owned rows has a second slot, where the lower row is the column
    second = np.flatnonzero(~leads)
    first = np.flatnonzero(leads & (column < owned))
    rows = np.int64(max(owned, 1))
    one = first[np.argsort(node[first] * rows + column[first])]
    two = second[np.argsort(column[second] * rows + node[second])]
    pairs = ((node[one], column[two]), (column[one], node[two])) if len(one) == len(two) else ()
    if not pairs or not all(np.array_equal(*pair) for pair in pairs):
        raise ValueError("parts must list each edge at both of its ends, got one at one end alone")
    edge[two] = edge[one]
    return edge, lead, np.flatnonzero(leads)
