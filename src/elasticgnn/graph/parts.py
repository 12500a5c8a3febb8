"""Sub-graphs, and graphs with a part changed: edges, weights, scales, device."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from elasticgnn.graph.checks import check_weight
from elasticgnn.graph.keys import edge_keys, pair_keys, pairs_of
from elasticgnn.graph.merge import Edges

if TYPE_CHECKING:
    from elasticgnn.graph.graph import Graph


def largest_component(graph: "Graph") -> tuple["Graph", Tensor]:
    """The largest connected component, and the numbers its nodes had."""
    if graph.num_nodes == 0:
        return graph, torch.arange(0, device=graph.device)
    largest = torch.bincount(graph.component_labels).argmax()
    nodes = (graph.component_labels == largest).nonzero().flatten()
    return subgraph(graph, nodes), nodes


def subgraph(graph: "Graph", nodes: Tensor, *, name: str = "nodes") -> "Graph":
    """The edges among `nodes`, which are numbered in the given order."""
    place = _places(graph, nodes, name)
    tail, head = place[graph._tail], place[graph._head]
    keep = (tail >= 0) & (head >= 0)
    tail, head, weight = tail[keep], head[keep], graph._weight[keep]
    low, high = torch.minimum(tail, head), torch.maximum(tail, head)
    order = torch.argsort(low * max(len(nodes), 1) + high)
    return _like(graph, Edges(low[order], high[order], weight[order]), len(nodes))


def permute(graph: "Graph", order: Tensor) -> "Graph":
    """The same graph with node order[k] as node k."""
    if len(order) != graph.num_nodes:
        raise ValueError(f"order must name all {graph.num_nodes} nodes once, got {len(order)}")
    return subgraph(graph, order, name="order")


def with_weight(graph: "Graph", weight: Tensor) -> "Graph":
    """The same edges with other weights (m,)."""
    check_weight(weight, graph.num_edges, "weight")
    own = weight if weight.requires_grad else weight.clone()
    edges = Edges(graph._tail, graph._head, own)
    return type(graph)(edges, graph.num_nodes, normalization=graph.normalization)


def with_normalization(graph: "Graph", normalization: str) -> "Graph":
    """The same edges with another normalisation."""
    edges, unit = Edges(graph._tail, graph._head, graph._weight), graph.is_unweighted
    return type(graph)(edges, graph.num_nodes, normalization=normalization, unit=unit)


def to_device(graph: "Graph", device: torch.device | str) -> "Graph":
    """The same graph on another device."""
    edges = (part.to(device) for part in (graph._tail, graph._head, graph._weight))
    return _like(graph, Edges(*edges), graph.num_nodes)


def _places(graph: "Graph", nodes: Tensor, name: str) -> Tensor:
    """Where each node of the graph stands in `nodes`, -1 for those left out."""
    if nodes.ndim != 1 or nodes.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"{name} must be a vector of node numbers, got {tuple(nodes.shape)}")
    if nodes.numel() and not 0 <= int(nodes.min()) <= int(nodes.max()) < graph.num_nodes:
        raise ValueError(f"{name} must lie in [0, {graph.num_nodes}), got {int(nodes.max())}")
    place = torch.full((graph.num_nodes,), -1, dtype=torch.int64, device=graph.device)
    place[nodes.long()] = torch.arange(len(nodes), device=graph.device)
    if int((place >= 0).sum()) != len(nodes):
        raise ValueError(f"{name} must name each node at most once")
    return place


def with_edges_flipped(graph: "Graph", pairs: Tensor) -> "Graph":
    """Edges among `pairs` leave, the other pairs come in with weight 1."""
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs must have shape (k, 2), got {tuple(pairs.shape)}")
    low, high = pairs.long().min(1).values, pairs.long().max(1).values
    if len(pairs) and (int(low.min()) < 0 or int(high.max()) >= graph.num_nodes):
        raise ValueError(f"pairs must name nodes in [0, {graph.num_nodes})")
    if bool((low == high).any()):
        raise ValueError("pairs must join two different nodes")
    flipped = pair_keys(low, high, graph.num_nodes)
    if len(torch.unique(flipped)) != len(flipped):
        raise ValueError("pairs must be distinct")
    present = edge_keys(graph)
    keep, new = ~torch.isin(present, flipped), ~torch.isin(flipped, present)
    key = torch.cat([present[keep], flipped[new]])
    weight = torch.cat([graph._weight[keep], graph._weight.new_ones(int(new.sum()))])
    order = torch.argsort(key)
    key, weight = key[order], weight[order]
    return _like(graph, Edges(*pairs_of(key, graph.num_nodes), weight), graph.num_nodes)


def _like(graph: "Graph", edges: Edges, num_nodes: int) -> "Graph":
    kind = type(graph)
    return kind(edges, num_nodes, normalization=graph.normalization, unit=graph.is_unweighted)
