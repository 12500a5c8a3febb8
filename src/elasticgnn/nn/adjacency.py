"""The normalised adjacency of a graph, prepared once for many passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from elasticgnn.features import SparseFeatures, feature_product
from elasticgnn.graph import Graph


@dataclass(frozen=True, eq=False)
class NormalizedAdjacency:
    """D^-1/2 (A + I) D^-1/2 with D the degrees of A + I: what GCN and SGC multiply by."""

    matrix: SparseFeatures

    @classmethod
    def of(cls, graph: Graph) -> NormalizedAdjacency:
        """Of a graph whose weights need no gradient."""
        from scipy import sparse

        adjacency = graph.to_scipy() + sparse.eye_array(graph.num_nodes, format="csr")
        scale = sparse.diags_array(1 / np.sqrt(adjacency.sum(1)))
        return cls(SparseFeatures.from_scipy(scale @ adjacency @ scale))

    def __matmul__(self, rows: Tensor) -> Tensor:
        """The adjacency times rows (n, d); differentiable in the rows."""
        return feature_product(self.matrix, rows)


Prepared = Graph | NormalizedAdjacency


def prepare(graph: Graph) -> Prepared:
    """What GCN and SGC take as `graph` to save the same normalisation in every pass.

    It is the graph itself where its weights ask for gradients.
    """
    return graph if graph.weight.requires_grad else NormalizedAdjacency.of(graph)
