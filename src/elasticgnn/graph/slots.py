"""Both directions of every edge in compressed-row order: what loops over neighbours read."""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from elasticgnn.graph.clustering import ClusteredSlots, cluster_slots
from elasticgnn.graph.merge import compiled, serves_addresses
from elasticgnn.graph.packing import PackedSlots, pack_slots


@dataclass(frozen=True)
class Slots:
    """Slot p in [start[i], start[i+1]) leads from node i to `column[p]` along edge `edge[p]`.

    >>> from elasticgnn.graph.derived import slots
    >>> slots(chain).start.tolist(), slots(chain).column.tolist()
    ([0, 1, 3, 5, 6], [1, 0, 2, 1, 3, 2])
    """

    start: Tensor  # (n + 1,) int64
    column: Tensor  # (2m,) int32, ascending within a node
    edge: Tensor  # (2m,) int32
    _packed: dict[int, PackedSlots] = field(default_factory=dict, repr=False, compare=False)

    def packed(self, rows: int) -> PackedSlots:
        """The slots with `rows` of them to a register; made at the first call."""
        if rows not in self._packed:
            self._packed[rows] = pack_slots(self.start, self.column, self.edge, rows)
        return self._packed[rows]

    @cached_property
    def clustered(self) -> ClusteredSlots:
        """The slots with neighbours near one another."""
        return cluster_slots(self)


def build_slots(tail: Tensor, head: Tensor, num_nodes: int) -> Slots:
    """The slots of edges (tail < head, sorted by tail then head)."""
    if not serves_addresses(tail):
        return _sorted_slots(tail, head, num_nodes)
    start = torch.empty(num_nodes + 1, dtype=torch.int64)
    column, edge = torch.empty(2, 2 * len(tail), dtype=torch.int32).unbind(0)
    ends = tuple(part.contiguous() for part in (tail, head))
    out = [table.data_ptr() for table in (start, column, edge)]
    compiled.fill_slots(num_nodes, len(tail), [part.data_ptr() for part in ends], out)
    return Slots(start, column, edge)


def _sorted_slots(tail: Tensor, head: Tensor, num_nodes: int) -> Slots:
    """The same in plain torch, on any device."""
    # Row i holds its neighbours below i (edges that end at i, in order of their tail) and then
    # those above i (edges that start at i): one stable sort by head gives the former in order.
    num_edges = len(tail)
    by_head = torch.argsort(head, stable=True)
    # bincount looks for the largest entry, which on a device waits for all work before it
    ones = torch.ones_like(tail)
    below = torch.zeros(num_nodes, dtype=torch.int64, device=tail.device).scatter_add_(
        0, head, ones
    )
    above = torch.zeros_like(below).scatter_add_(0, tail, ones)
    start = torch.zeros(num_nodes + 1, dtype=torch.int64, device=tail.device)
    torch.cumsum(below + above, 0, out=start[1:])
    rank = torch.arange(num_edges, device=tail.device)
    below_offset = torch.cumsum(below, 0) - below
    above_offset = torch.cumsum(above, 0) - above
    place_below = start[head[by_head]] + rank - below_offset[head[by_head]]
    place_above = start[tail] + below[tail] + rank - above_offset[tail]
    column = torch.empty(2 * num_edges, dtype=torch.int32, device=tail.device)
    edge = torch.empty_like(column)
    column[place_below] = tail[by_head].int()
    edge[place_below] = by_head.int()
    column[place_above] = head.int()
    edge[place_above] = rank.int()
    return Slots(start, column, edge)
