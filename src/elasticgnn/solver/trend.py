"""Difference operators of order 0, 1 and 2 (the paper's section 2.2) as sparse matrices."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ORDERS = (0, 1, 2)


def trend_operator(graph: Graph, order: int) -> tuple["csr_array", NDArray[np.float64]]:
    """K (r, n) with delta = K F, and the weight of each of its rows (r,).

    Order 0: differences along edges, weighted by w. Order 1: L F at nodes, weight 1.
    Order 2: differences of L F along edges, weighted by w. L = K0' diag(w) K0.
    """
    from scipy.sparse import csr_array, diags_array

    weight = graph.weight.detach().double().cpu().numpy()
    scale = graph.scale.detach().double().cpu().numpy()
    tail, head = graph.tail.cpu().numpy(), graph.head.cpu().numpy()
    edges = np.arange(graph.num_edges)
    values = np.concatenate([scale[tail], -scale[head]])
    places = (np.concatenate([edges, edges]), np.concatenate([tail, head]))
    first = csr_array((values, places), shape=(graph.num_edges, graph.num_nodes))
    if order == 0:
        return first, weight
    laplacian = csr_array(first.T @ diags_array(weight) @ first)
    if order == 1:
        return laplacian, np.ones(graph.num_nodes)
    return csr_array(first @ laplacian), weight
