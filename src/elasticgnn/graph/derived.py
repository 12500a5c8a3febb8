"""What a graph works out once and remembers: the library reads it, the user is not handed it."""

import hashlib
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from elasticgnn.graph.convert import to_scipy
from elasticgnn.graph.edge_tiles import EdgeTiles, tile_edges
from elasticgnn.graph.once import once, once_if_fixed
from elasticgnn.graph.slots import Slots, build_slots

if TYPE_CHECKING:
    from elasticgnn.graph.graph import Graph


def degree(graph: "Graph") -> Tensor:
    """Sum of each node's weights (n,) in float64: a hub adds up a million float32 numbers."""
    own = float(graph.normalization == "degree")
    weight = graph._weight.double()
    total = weight.new_full((graph.num_nodes,), own)
    return total.index_add(0, graph._tail, weight).index_add(0, graph._head, weight)


def scale(graph: "Graph") -> Tensor:
    """1/sqrt(degree), or 1 when "none": (n,) in float64."""
    if graph.normalization == "none":
        return torch.ones(graph.num_nodes, dtype=torch.float64, device=graph.device)
    return degree(graph).rsqrt()


@once_if_fixed
def norm_bound(graph: "Graph") -> float:
    """An upper bound of the largest eigenvalue of the Laplacian, without a solve."""
    largest = float(degree(graph).detach().max()) if graph.num_edges else 0.0
    return 2.0 * largest if largest > 0 else 1.0


@once
def edge_tiles(graph: "Graph") -> EdgeTiles:
    """The edges cut into tiles that threads may take at once."""
    return tile_edges(graph._tail, graph._head, graph.num_nodes)


@once
def slots(graph: "Graph") -> Slots:
    """Both directions of the edges, ordered by node."""
    return build_slots(graph._tail, graph._head, graph.num_nodes)


@once_if_fixed
def cast(graph: "Graph", dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Weights (m,) and scales (n,) in another precision."""
    return graph._weight.to(dtype), scale(graph).to(dtype)


@once
def component_labels(graph: "Graph") -> Tensor:
    """The number of every node's connected component (n,), counted by first appearance."""
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(to_scipy(graph), directed=False)
    return torch.from_numpy(labels).long().to(graph.device)


@once_if_fixed
def fingerprint(graph: "Graph") -> str:
    """SHA-256 of nodes, edges, weights and normalisation."""
    digest = hashlib.sha256(f"{graph.num_nodes} {graph.normalization}".encode())
    for part in (graph._tail, graph._head, graph._weight.detach().double()):
        digest.update(part.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
