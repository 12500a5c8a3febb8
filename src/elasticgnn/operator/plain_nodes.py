"""Plain steps on a graph most of whose nodes have no edge: those keep their rows, as they must.

What is saved grows with the nodes that take part, so only those with edges do. There are at most
two for an edge; exactly how many is known to the device, which is not asked.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from elasticgnn.operator.second_order import Inputs, Settings

Propagate = Callable[[Inputs, Settings], Tensor]


def on_nodes_with_edges(propagate: Propagate, inputs: Inputs, settings: Settings) -> Tensor:
    """`propagate` on the ends of edges alone, which are fewer than all nodes."""
    places = 2 * len(settings.tail)
    nodes, position = _numbered(settings, len(inputs.x), places)
    x = torch.cat([inputs.x, torch.zeros_like(inputs.x[:1])])  # the row of places without a node
    scale = torch.cat([inputs.scale, torch.ones_like(inputs.scale[:1])])
    ends = settings._replace(tail=position[settings.tail], head=position[settings.head])
    few = inputs._replace(x=x.index_select(0, nodes), scale=scale.index_select(0, nodes))
    return x.index_copy(0, nodes, propagate(few, ends))[:-1]


def _numbered(settings: Settings, num_nodes: int, places: int) -> tuple[Tensor, Tensor]:
    """The node of every place, `num_nodes` for places without one; the place of every node."""
    tail = settings.tail
    has_edge = torch.zeros(num_nodes, dtype=torch.int64, device=tail.device)
    has_edge.index_fill_(0, tail, 1).index_fill_(0, settings.head, 1)
    position = torch.where(has_edge > 0, has_edge.cumsum(0) - 1, places)
    nodes = torch.full((places + 1,), num_nodes, dtype=torch.int64, device=tail.device)
    nodes.scatter_(0, position, torch.arange(num_nodes, device=tail.device))
    return nodes[:-1], position
