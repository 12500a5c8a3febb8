"""Graphs whose components are chains: whether one is, and its nodes in order."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.graph.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def chain_order(graph: Graph) -> list[NDArray[np.intp]]:
    """The nodes of every component in the order of its chain."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    assert is_chain(graph)
    matrix = _neighbours(graph)
    degree = np.diff(matrix.indptr)
    _, label = connected_components(matrix, directed=False)
    ends = np.flatnonzero(degree <= 1)
    first = ends[np.unique(label[ends], return_index=True)[1]]
    return [
        breadth_first_order(matrix, start, directed=False, return_predecessors=False)
        for start in first
    ]


def is_chain(graph: Graph) -> bool:
    """Whether every component is a chain; edges of weight 0 do not count."""
    from scipy.sparse.csgraph import connected_components

    matrix = _neighbours(graph)
    count = connected_components(matrix, directed=False, return_labels=False)
    degree = np.diff(matrix.indptr)
    return bool(degree.max(initial=0) <= 2 and matrix.nnz // 2 == graph.num_nodes - count)


def _neighbours(graph: Graph) -> "csr_array":
    matrix = graph.to_scipy()
    matrix.eliminate_zeros()
    return matrix
