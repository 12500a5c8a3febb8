"""Nodes by their number of edges, for graphs where few nodes have most of them.

The loops for wide rows follow an edge from its lower end to its higher one. With hubs at the end of
the order, the rows that nearly every edge leads to are few and stay in a core's cache, and those of
all other nodes are read one after the other.
"""

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.once import may_need_gradient, once
from elasticgnn.kernels import tuning

if TYPE_CHECKING:
    from elasticgnn.graph.graph import Graph


class OrderedGraph(NamedTuple):
    """A graph with its nodes in another order."""

    graph: "Graph"
    order: Tensor  # (n,): node i here is the given graph's node order[i]
    place: Tensor  # (n,): node i of the given graph is node place[i] here

    def rows(self, given: Tensor) -> Tensor:
        """Rows of the given graph's nodes, in the order of this one's."""
        return given.index_select(0, self.order)

    def hand_back(self, rows: Tensor, out: Tensor) -> None:
        """The opposite, into `out`."""
        torch.index_select(rows, 0, self.place, out=out)


def order_hubs(graph: "Graph") -> OrderedGraph | None:
    """The graph with its hubs last; None where it has none, or where neighbours are near already.

    Weights that may change would have to be put in order at every call: such graphs stay.
    """
    ordered: OrderedGraph | None = None
    if not may_need_gradient(graph._weight):
        ordered = _ordered(graph)
    return ordered


@once
def _ordered(graph: "Graph") -> OrderedGraph | None:
    ends = torch.cat([graph._tail, graph._head])
    degree = torch.bincount(ends, minlength=graph.num_nodes)
    if not has_far_hubs(degree, graph._head - graph._tail):
        return None
    order = torch.argsort(degree, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    return OrderedGraph(graph.permute(order), order, place)


def has_far_hubs(degree: Tensor, distance: Tensor) -> bool:
    """Whether some nodes have most edges, and most edges lead far."""
    mean = degree.double().mean()
    skew = degree.double().square().mean() / mean.square()
    is_far = tuning.FAR_SHARE * distance.median() >= len(degree)
    return bool(skew >= tuning.HUB_SKEW) and bool(is_far)
