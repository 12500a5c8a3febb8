"""A graph of any usual form as a `Graph`; layers read edge_index themselves (nn/graph_input.py)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.graph import Graph


def any_graph(graph: Any, num_nodes: int) -> Graph:
    """The `Graph` of `graph`; an edge_index may leave out the last of `num_nodes` nodes."""
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
