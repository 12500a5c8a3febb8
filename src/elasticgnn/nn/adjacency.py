"""A graph as the one matrix that a model multiplies by, prepared once for many passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from elasticgnn.features import SparseFeatures, feature_product
from elasticgnn.graph import Graph

if TYPE_CHECKING:
    from scipy import sparse


@dataclass(frozen=True, eq=False)
class GraphMatrix:
    """A matrix without gradients: (n, n), or some of its rows."""

    matrix: SparseFeatures

    def __len__(self) -> int:
        return len(self.matrix)

    def __matmul__(self, rows: Tensor) -> Tensor:
        """The matrix times rows (n, d); differentiable in the rows."""
        return feature_product(self.matrix, rows)


Prepared = Graph | GraphMatrix


def prepare_normalized(graph: Graph) -> Prepared:
    """D^-1/2 (A + I) D^-1/2 with D the degrees of A + I, for GCN and SGC.

    It is the graph itself where its weights ask for gradients.
    """
    from scipy import sparse

    if graph.weight.requires_grad:
        return graph
    matrix = graph.to_scipy() + sparse.eye_array(graph.num_nodes, format="csr")
    scale = _degrees_to(-0.5, matrix)
    return _as_prepared(scale @ matrix @ scale)


def prepare_laplacian(graph: Graph) -> Prepared:
    """-D^-1/2 A D^-1/2, for ChebNet: the normalised Laplacian minus I; or the graph, as above."""
    if graph.weight.requires_grad:
        return graph
    matrix = graph.to_scipy()
    scale = _degrees_to(-0.5, matrix)
    return _as_prepared(-(scale @ matrix @ scale))


def prepare_mean(graph: Graph) -> Prepared:
    """The mean over the neighbours, for GraphSAGE, which ignores weights: D^-1 A."""
    matrix = graph.to_scipy()
    matrix.data[:] = 1
    return _as_prepared(_degrees_to(-1.0, matrix) @ matrix)


def _as_prepared(matrix: sparse.csr_array) -> GraphMatrix:
    return GraphMatrix(SparseFeatures.from_scipy(matrix))


def _degrees_to(power: float, matrix: sparse.csr_array) -> sparse.dia_array:
    """The diagonal of the row sums to a power; 0 for rows without neighbours."""
    from scipy import sparse

    degree = np.asarray(matrix.sum(1, dtype=np.float64))  # a hub adds up many numbers
    scale = np.zeros_like(degree)
    np.power(degree, power, out=scale, where=degree > 0)
    return sparse.diags_array(scale)
