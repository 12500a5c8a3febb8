"""Constant pieces of a signal on a graph, and the edges between them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph


@dataclass(frozen=True)
class Boundary:
    """Edges between pieces: most saturated first, then by length of the jump."""

    edge: Tensor  # (b,) numbers of the edges in the graph
    pieces: Tensor  # (b, 2) pieces at the edge's tail and head
    saturation: Tensor  # (b,) size of the dual as a share of lambda1
    jump: Tensor  # (b,) length of the degree-scaled difference

    def __len__(self) -> int:
        return len(self.edge)


def piece_labels(value: Tensor, graph: Graph, tolerance: float) -> Tensor:
    """The number of each node's piece (n,): neighbours at most `tolerance` apart share one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    flat = _jumps(value, graph) <= tolerance
    tail, head = graph.tail[flat].cpu().numpy(), graph.head[flat].cpu().numpy()
    ones = torch.ones(len(tail), dtype=torch.int8).numpy()
    shape = (graph.num_nodes, graph.num_nodes)
    _, labels = connected_components(csr_array((ones, (tail, head)), shape=shape), directed=False)
    return torch.from_numpy(labels).long()


def boundary_edges(
    value: Tensor, dual: Tensor, graph: Graph, lambda1: float, labels: Tensor
) -> Boundary:
    """The edges whose ends lie in different pieces, ranked."""
    jump = _jumps(value, graph)
    edge = (labels[graph.tail] != labels[graph.head]).nonzero().flatten()
    reach = torch.linalg.vector_norm(_as_rows(dual), dim=1)
    if len(dual) != graph.num_edges:  # order 1: the dual lives on nodes
        reach = torch.maximum(reach[graph.tail], reach[graph.head])
    saturation = (reach / lambda1 if lambda1 > 0 else torch.ones_like(reach))[edge]
    by_jump = torch.argsort(jump[edge], descending=True, stable=True)
    rank = by_jump[
        torch.argsort(saturation[by_jump].round(decimals=6), descending=True, stable=True)
    ]
    edge = edge[rank]
    ends = torch.stack([labels[graph.tail[edge]], labels[graph.head[edge]]], 1)
    return Boundary(edge, ends, saturation[rank], jump[edge])


def _jumps(value: Tensor, graph: Graph) -> Tensor:
    rows = graph.difference(_as_rows(value.detach())).detach()
    return torch.linalg.vector_norm(rows, dim=1)


def _as_rows(values: Tensor) -> Tensor:
    return values[:, None] if values.ndim == 1 else values
