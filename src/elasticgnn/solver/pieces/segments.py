"""Constant pieces of a signal on a graph, and the edges between them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from elasticgnn.solver.problem.geometry import Geometry

LAST_DIGITS = 8.0  # machine epsilons between two numbers that are the same
INSIDE = 1e-6  # share of its ball that a dual inside it has left at least


@dataclass(frozen=True)
class Boundary:
    """Edges between pieces: most saturated first, then by length of the jump.

    >>> from elasticgnn.solver import minimise
    >>> boundary = minimise(x, chain, ElasticPenalty(0.3, 0.0)).boundary()
    >>> boundary.edge.tolist(), [round(v, 2) for v in boundary.jump.tolist()]
    ([1], [0.7])
    """

    edge: Tensor  # (b,) numbers of the edges in the graph
    pieces: Tensor  # (b, 2) pieces at the edge's tail and head
    saturation: Tensor  # (b,) size of the dual as a share of lambda1
    jump: Tensor  # (b,) length of the degree-scaled difference

    def __len__(self) -> int:
        return len(self.edge)


def nearly_equal(value: Tensor, graph: Graph) -> Tensor:
    """(m, d): whether both ends of an edge agree up to their last digits (scaled).

    So do two ends that have no value: a component without any is one piece.
    """
    scaled = graph.scale.detach().double()[:, None] * value
    ends = scaled[graph.tail], scaled[graph.head]
    slack = LAST_DIGITS * torch.finfo(torch.float64).eps
    equal = (ends[0] - ends[1]).abs() <= slack * (ends[0].abs() + ends[1].abs())
    return equal | (ends[0].isnan() & ends[1].isnan())


def flat_edges(
    value: Tensor, dual: Tensor, graph: Graph, lambda1: float, usual: Tensor, *, entrywise: bool
) -> Tensor:
    """(m, d), or (m, 1) where channels interact: whether the dual says that an edge is flat.

    `usual` (1, d) or (1, 1) is the length that differences of a channel are measured by.
    """
    size = graph.difference(value).detach() / usual
    share = dual / lambda1 if lambda1 > 0 else torch.ones_like(dual)
    if not entrywise:
        size, share = (torch.linalg.vector_norm(t, dim=1, keepdim=True) for t in (size, share))
    room = 1 - share.abs() if lambda1 > 0 else torch.zeros_like(share)
    live = graph.weight.detach() > 0
    return (room > size.abs()) & (room > INSIDE) & live[:, None]


def piece_labels(flat: Tensor, graph: Graph) -> Tensor:
    """The number of each node's piece (n,): the ends of `flat` edges (m,) share one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    tail, head = graph.tail[flat].cpu().numpy(), graph.head[flat].cpu().numpy()
    ones = torch.ones(len(tail), dtype=torch.int8).numpy()
    shape = (graph.num_nodes, graph.num_nodes)
    _, labels = connected_components(csr_array((ones, (tail, head)), shape=shape), directed=False)
    return torch.from_numpy(labels).long()


def boundary_edges(
    value: Tensor, reach: Tensor, graph: Graph, lambda1: float, labels: Tensor
) -> Boundary:
    """The edges whose ends lie in different pieces, ranked; `reach` (m,) is their dual's length."""
    jump = jump_lengths(value, graph)
    edge = (labels[graph.tail] != labels[graph.head]).nonzero().flatten()
    saturation = (reach / lambda1 if lambda1 > 0 else torch.ones_like(reach))[edge]
    by_jump = torch.argsort(jump[edge], descending=True, stable=True)
    rank = by_jump[
        torch.argsort(saturation[by_jump].round(decimals=6), descending=True, stable=True)
    ]
    edge = edge[rank]
    ends = torch.stack([labels[graph.tail[edge]], labels[graph.head[edge]]], 1)
    return Boundary(edge, ends, saturation[rank], jump[edge])


def edge_reach(dual: Tensor, geometry: "Geometry") -> Tensor:
    """The length of the dual on each edge (m,): of its row, or the largest of the rows over it."""
    graph, reach = geometry.graph, torch.linalg.vector_norm(as_rows(dual), dim=1)
    if geometry.boundary == "free":
        return _largest_over(reach, geometry.operator, graph)
    if geometry.order == 1:  # a row per node
        return torch.maximum(reach[graph.tail], reach[graph.head])
    return reach


def _largest_over(reach: Tensor, rows: "csr_array", graph: Graph) -> Tensor:
    """Per edge the largest of the rows' numbers whose nodes both ends are; 0 without a row."""
    columns = abs(rows).tocsc()
    both = columns[:, graph.tail.cpu().numpy()].multiply(columns[:, graph.head.cpu().numpy()])
    place = both.tocoo()
    out = torch.zeros(graph.num_edges, dtype=reach.dtype)
    found = torch.from_numpy(place.col.astype(np.int64))
    return out.scatter_reduce(0, found, reach[torch.from_numpy(place.row.astype(np.int64))], "amax")


def jump_lengths(value: Tensor, graph: Graph) -> Tensor:
    """Lengths of the degree-scaled differences (m,)."""
    rows = graph.difference(as_rows(value.detach())).detach()
    return torch.linalg.vector_norm(rows, dim=1)


def as_rows(values: Tensor) -> Tensor:
    """(n,) as (n, 1)."""
    return values[:, None] if values.ndim == 1 else values


def middle_nodes(operator: "csr_array") -> NDArray[np.int64]:
    """The node in the middle of each row of a difference operator, by its largest entry: (r,)."""
    out = np.empty(operator.shape[0], dtype=np.int64)
    for row in range(operator.shape[0]):
        part = slice(operator.indptr[row], operator.indptr[row + 1])
        out[row] = operator.indices[part][np.abs(operator.data[part]).argmax()]
    return out
