"""Difference operators of any order (the paper's section 2.2, and trend filtering) as matrices."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.graph import Graph
from elasticgnn.graph.chains import chain_order, is_chain
from elasticgnn.solver.problem.memory import ENTRY_BYTES, MOST_BYTES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ORDERS = (0, 1, 2)  # on any graph
BOUNDARIES = ("graph", "free")
Array = NDArray[np.float64]
Places = NDArray[np.int64]


def check_order(graph: Graph, order: int, boundary: str) -> None:
    """Refuses orders that the graph does not have."""
    if boundary not in BOUNDARIES:
        raise ValueError(f"boundary must be one of {BOUNDARIES}, got {boundary!r}")
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"order must be an integer >= 0, got {order!r}")
    if boundary == "graph" and order not in ORDERS:
        raise ValueError(
            f"order must be one of {ORDERS} unless boundary is 'free' on a chain, got {order}"
        )
    if boundary == "graph" and order == 2:
        _check_second_order(graph)
    if boundary == "free":
        if not is_chain(graph):
            raise ValueError("boundary must be 'graph' unless the graph is a chain, got 'free'")
        if graph.normalization != "none":
            raise ValueError("boundary must be 'graph' for a normalised graph, got 'free'")


def _check_second_order(graph: Graph) -> None:
    """Refuses hubs whose every edge would see all their neighbours."""
    degree = np.diff(graph.to_scipy().indptr).astype(np.float64)
    entries = float((degree * (degree + 1)).sum())
    if entries * ENTRY_BYTES > MOST_BYTES:
        raise ValueError(
            f"order must be at most 1 on this graph: an edge of a hub with {degree.max():.0f} "
            f"neighbours sees them all at order 2, which makes {entries:.2g} entries"
        )


def trend_operator(graph: Graph, order: int, boundary: str) -> tuple["csr_array", Array]:
    """K (r, n) with delta = K F, and the weight of each of its rows (r,).

    Order 0: differences along edges, weighted by w. Order 1: L F at nodes, weight 1.
    Order 2: differences of L F along edges, weighted by w. L = K0' diag(w) K0.
    boundary "free", on chains: the differences of order + 1 of neighbours in a row, weight 1, which
    leave polynomials of the order alone; at the ends nothing is asked.
    """
    from scipy.sparse import csr_array

    if boundary == "free":
        rows = free_operator(graph, order)
        return rows, np.ones(rows.shape[0])
    weight = graph.weight.detach().double().cpu().numpy()
    scale = graph.scale.detach().double().cpu().numpy()
    tail, head = graph.tail.cpu().numpy(), graph.head.cpu().numpy()
    if order == 1:
        return _laplacian(graph.num_nodes, tail, head, weight, scale), np.ones(graph.num_nodes)
    ends = np.stack([tail, head], 1).astype(np.int32).ravel()
    values = np.stack([scale[tail], -scale[head]], 1).ravel()
    starts = np.arange(graph.num_edges + 1, dtype=np.int32) * 2
    first = csr_array((values, ends, starts), shape=(graph.num_edges, graph.num_nodes))
    if order == 0:
        return first, weight
    return first @ _laplacian(graph.num_nodes, tail, head, weight, scale), weight


def _laplacian(nodes: int, tail: Places, head: Places, weight: Array, scale: Array) -> "csr_array":
    """K0' diag(w) K0 (n, n)."""
    from scipy.sparse import coo_array

    across = -weight * scale[tail] * scale[head]
    degree = np.bincount(tail, weight, nodes) + np.bincount(head, weight, nodes)
    own = np.arange(nodes, dtype=np.int32)
    low, high = tail.astype(np.int32), head.astype(np.int32)
    values = np.concatenate([degree * scale**2, across, across])
    places = np.concatenate([own, low, high]), np.concatenate([own, high, low])
    return coo_array((values, places), shape=(nodes, nodes)).tocsr()


def free_operator(graph: Graph, order: int) -> "csr_array":
    """Differences of order + 1 along every chain of the graph: (r, n)."""
    from scipy.sparse import csr_array, vstack

    parts = []
    for nodes in chain_order(graph):
        count = max(len(nodes) - order - 1, 0)
        places = nodes[np.arange(count)[:, None] + np.arange(order + 2)]
        values = np.broadcast_to(_binomials(order + 1), places.shape)
        rows = np.repeat(np.arange(count), order + 2)
        shape = (count, graph.num_nodes)
        parts.append(csr_array((values.ravel(), (rows, places.ravel())), shape=shape))
    return csr_array(vstack(parts)) if parts else csr_array((0, graph.num_nodes))


def _binomials(power: int) -> Array:
    """Coefficients of (1 - t)^power."""
    row = np.ones(1)
    for _ in range(power):
        row = np.convolve(row, [1.0, -1.0])
    return row
