"""Features made from the graph alone, for nodes that have none of their own."""

from __future__ import annotations

import torch

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

NOTE = "no features given: stand-ins are one column per node (identity) and the log of the degree"


def structural_features(graph: Graph) -> SparseFeatures:
    """Identity columns and one column log(1 + weighted degree) / its maximum, (n, n + 1).

    The identity lets a model learn what a training node says and the graph carry it on; it is
    the usual stand-in of the robustness literature (there for Polblogs). No randomness.
    """
    n = graph.num_nodes
    zeros = torch.zeros(n, dtype=torch.float64)
    weight = graph.weight.detach().double()
    degree = zeros.index_add(0, graph.tail, weight).index_add(0, graph.head, weight)
    height = degree.log1p()
    height = height / height.max().clamp(min=1e-12) if n else height
    column = torch.stack([torch.arange(n), torch.full((n,), n)], dim=1).flatten()
    value = torch.stack([torch.ones(n), height.float()], dim=1).flatten()
    return SparseFeatures(2 * torch.arange(n + 1), column.to(torch.int32), value, n + 1)
