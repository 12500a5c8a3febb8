"""Nodes in an order where neighbours are near one another: rows that meet lie in a near cache."""

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.keys import pair_keys
from elasticgnn.kernels import native

if TYPE_CHECKING:
    from elasticgnn.graph.slots import Slots

loops: Any = native  # not None where these functions are called


class ClusteredSlots(NamedTuple):
    """The slots of the graph with its nodes and edges in another order."""

    order: Tensor  # (n,) int64: node i here is the graph's node order[i]
    edge_order: Tensor  # (m,) int64: the same for edges
    slots: "Slots"


def cluster_nodes(first: Tensor, other: Tensor) -> Tensor:
    """The order (n,) for slots first[i] .. first[i + 1] - 1 of node i: clusters of clusters."""
    order = torch.arange(len(first) - 1)
    loops.cluster_order(len(order), first.data_ptr(), other.data_ptr(), order.data_ptr())
    return order


def cluster_slots(slots: "Slots") -> ClusteredSlots:
    """Nodes of a cluster side by side, edges sorted as a graph's are."""
    from elasticgnn.graph.slots import build_slots

    order = cluster_nodes(slots.start, slots.column)
    n = len(order)
    place = torch.empty_like(order)
    place[order] = torch.arange(n)
    node = torch.repeat_interleave(torch.arange(n), slots.start.diff())
    up = slots.column > node  # the slots of a node that lead up are its edges, in their order
    tail, head = place[node[up]], place[slots.column[up].long()]
    low, high = torch.minimum(tail, head), torch.maximum(tail, head)
    edge_order = torch.argsort(pair_keys(low, high, n))
    return ClusteredSlots(order, edge_order, build_slots(low[edge_order], high[edge_order], n))
