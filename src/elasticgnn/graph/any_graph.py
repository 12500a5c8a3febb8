"""A graph of any usual form as a `Graph`; layers read edge_index themselves (nn/graph_input.py)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.graph import Graph


def any_graph(graph: Any, rows: int) -> Graph:
    """The `Graph` of `graph`, with a node for each of `rows` rows of a table X.

    An edge_index may leave out the last nodes. Which rows were taken out of X, as cross-validation
    by scikit-learn does, cannot be told: another number is refused.
    """
    if hasattr(graph, "tocsr"):
        check_rows(rows, graph.shape[-1])  # first: with rows taken out it is not square any more
    found = as_is(graph, rows)
    check_rows(rows, found.num_nodes)
    return found


def check_rows(rows: int, num_nodes: int) -> None:
    """Refuses a table X that has not one row for each node."""
    if rows != num_nodes:
        raise ValueError(
            f"X must have a row for each of the graph's {num_nodes} nodes, got {rows}; to leave "
            "nodes out of training make them unknown in y (-1 or None), for cross-validation "
            "there is tune=True"
        )


def as_is(graph: Any, num_nodes: int) -> Graph:
    """The `Graph` of `graph`, whose own number of nodes counts if it has one."""
    if isinstance(graph, Graph):
        return graph
    if hasattr(graph, "tocsr"):
        return Graph.from_scipy(graph)
    if hasattr(graph, "edge_index"):
        return Graph.from_pyg(graph)
    if hasattr(graph, "is_directed"):
        return Graph.from_networkx(graph)
    if isinstance(graph, Tensor | np.ndarray):
        return Graph.from_edge_index(torch.as_tensor(graph), num_nodes)
    raise ValueError(
        "graph must be a Graph, an edge_index, or of scipy, networkx or torch_geometric, "
        f"got {type(graph).__name__}"
    )
