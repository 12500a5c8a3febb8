"""Arrays of any usual form as what the library works with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


def as_features(X: Any) -> Tensor | SparseFeatures:
    """Features of any usual form in float32."""
    if isinstance(X, SparseFeatures):
        return X
    if hasattr(X, "tocsr"):
        return SparseFeatures.from_scipy(X)
    dense = torch.as_tensor(np.asarray(X) if not isinstance(X, Tensor) else X).float()
    if dense.ndim != 2:
        raise ValueError(f"X must be (n, f), got {tuple(dense.shape)}")
    if not bool(torch.isfinite(dense).all()):
        raise ValueError("X must hold finite numbers only, got NaN or infinity")
    return dense


def as_graph(graph: Any, num_nodes: int) -> Graph:
    """A graph of any usual form; an edge_index may leave out the last of `num_nodes` nodes."""
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


def from_text(names: tuple[str, ...]) -> list[Any]:
    """Class names as whole numbers where all are written as such, else as they are."""
    if all(name.lstrip("-").isdecimal() for name in names):
        return [int(name) for name in names]
    return list(names)
