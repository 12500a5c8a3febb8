"""Models that see the mean features of a node's neighbours beside its own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import GraphMatrix, prepare_mean
from elasticgnn.training.loop.forward import forward_on
from elasticgnn.training.model.preparation import scaled


def hop_width(num_features: int, hops: int) -> int:
    """How many columns `hop_features` has of so many."""
    return (hops + 1) * num_features + 1


def hop_features(
    features: Tensor | SparseFeatures, graph: Graph, hops: int
) -> Tensor | SparseFeatures:
    """A node's own columns, their mean over its neighbours, the mean of those means, …, and
    log(1 + number of neighbours): (n, (hops + 1) f + 1). A node without neighbours has means of 0.

    >>> from elasticgnn.graph import Graph
    >>> from elasticgnn.training.wrappers.hops import hop_features
    >>> path = Graph.from_edges([(0, 1), (1, 2)])
    >>> hop_features(torch.tensor([[1.0], [2.0], [6.0]]), path, 1)[:, :2]
    tensor([[1.0000, 2.0000],
            [2.0000, 3.5000],
            [6.0000, 2.0000]])
    """
    matrix = prepare_mean(graph)
    assert isinstance(matrix, GraphMatrix)
    height = neighbour_counts(graph).log1p()[:, None]
    if isinstance(features, SparseFeatures):
        return sparse_hops(features, matrix, height, hops)
    parts = [features.float()]
    for _ in range(hops):
        parts.append(matrix @ parts[-1])
    return torch.cat([*parts, height], dim=1)


def hops_within(features: Tensor | SparseFeatures, graph: Graph, most: int) -> int:
    """How many hops, at most 2, keep `hop_features` below `most` stored values."""
    rows, width = features.shape
    if isinstance(features, Tensor):
        return min(2, most // max(rows * width, 1) - 1) if rows * width <= most else 0
    matrix = graph.to_scipy()
    matrix.data[:] = 1
    values = np.diff(features.to_scipy().indptr)  # in a row, then at most so many
    total = int(values.sum())
    for hops in (1, 2):
        values = np.minimum(matrix @ values, width)
        total += int(values.sum())
        if total > most:
            return hops - 1
    return 2


def sparse_hops(
    features: SparseFeatures, matrix: GraphMatrix, height: Tensor, hops: int
) -> SparseFeatures:
    """The same of sparse columns."""
    from scipy import sparse

    mean, parts = matrix.matrix.to_scipy(), [features.to_scipy()]
    for _ in range(hops):
        parts.append(mean @ parts[-1])
    columns = sparse.hstack([*parts, sparse.csr_array(height.numpy())], format="csr")
    return SparseFeatures.from_scipy(columns).to(torch.float32)


def neighbour_counts(graph: Graph) -> Tensor:
    """How many neighbours each node has (n,)."""
    ends = torch.cat([graph.tail, graph.head])
    return torch.bincount(ends, minlength=graph.num_nodes).float()


class OnHops(nn.Module):
    """`inner` on the `hop_features` of its input, (x - center) / scale; both are buffers.

    >>> from elasticgnn.nn import MLP
    >>> from elasticgnn.training.wrappers.hops import OnHops, hop_width
    >>> width = hop_width(16, 2)
    >>> inner = MLP(width, 8, 2).eval()
    >>> OnHops(inner, 2, torch.zeros(width), torch.ones(width))(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    center: Tensor
    scale: Tensor

    def __init__(self, inner: nn.Module, hops: int, center: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.inner, self.hops = inner, hops
        self.register_buffer("center", center)
        self.register_buffer("scale", scale)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """What `inner` says (n, out); edge weights are ignored, as GraphSAGE does."""
        columns = scaled(hop_features(x, graph, self.hops), self.center, self.scale)
        return forward_on(self.inner, columns, graph)(noise)


def without_hops(model: nn.Module) -> nn.Module:
    """The model that sees the hops, or the model itself."""
    return model.inner if isinstance(model, OnHops) else model


def count_hops(model: nn.Module) -> int:
    """How many steps away the features are that a model is handed beside a node's own."""
    return model.hops if isinstance(model, OnHops) else 0
