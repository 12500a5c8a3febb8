"""A pair of nodes as one number, low * n + high: keys ascend as the edges of a graph do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from elasticgnn.graph.graph import Graph


def pair_keys(low: Tensor, high: Tensor, num_nodes: int) -> Tensor:
    """The key of each pair of nodes (k,), int64."""
    return low * num_nodes + high


def pairs_of(keys: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """The two nodes of each key, (k,) each."""
    size = max(num_nodes, 1)  # without nodes there are no keys, and nothing to divide by
    return keys // size, keys % size


def edge_keys(graph: Graph) -> Tensor:
    """The keys of a graph's edges (m,), ascending.

    >>> edge_keys(Graph.from_edges([(0, 1), (1, 2)])).tolist()
    [1, 5]
    """
    return pair_keys(graph._tail, graph._head, graph.num_nodes)
