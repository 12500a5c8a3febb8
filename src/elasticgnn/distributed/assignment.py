"""Which part each node belongs to: METIS, the library's own clusters, or blocks of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.extras import optional_imports
from elasticgnn.graph import Graph
from elasticgnn.graph.clustering import cluster_nodes

METHODS = ("metis", "clusters", "blocks")


def partition(graph: Graph, parts: int, *, method: str = "metis") -> Tensor:
    """The part 0 .. parts - 1 of each node (n,) int32; parts have about equal work.

    A node's work is 1 + its number of edges. "metis" cuts few edges (recursive bisection, so that
    neighbouring parts have neighbouring numbers; needs pymetis), "clusters" takes consecutive nodes
    in the library's cluster order, "blocks" consecutive nodes as they are numbered.

    >>> from elasticgnn.distributed import partition
    >>> sorted(partition(chain, 2).tolist())
    [0, 0, 1, 1]
    """
    check_parts(parts, graph.num_nodes)
    slots = graph._slots
    return torch.from_numpy(assign(slots.start, slots.column, parts, method))


def assign(start: Tensor, column: Tensor, parts: int, method: str) -> NDArray[np.int32]:
    """The part of each node, for the neighbours column[start[i]] .. column[start[i + 1] - 1]."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    if parts == 1:
        return np.zeros(len(start) - 1, dtype=np.int32)
    if method == "metis":
        return metis_parts(start.numpy(), column.numpy(), parts)
    work = 1 + np.diff(start.numpy())
    if method == "blocks":
        return equal_parts(work, parts)
    order = cluster_nodes(start, column).numpy()
    found = np.empty(len(work), dtype=np.int32)
    found[order] = equal_parts(work[order], parts)
    return found


def check_parts(parts: int, num_nodes: int) -> None:
    """Refuses anything but 1 to `num_nodes` parts."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= max(num_nodes, 1):
        raise ValueError(f"parts must be a whole number in 1..{num_nodes} (nodes), got {parts!r}")


def equal_parts(work: NDArray[Any], parts: int) -> NDArray[np.int32]:
    """Consecutive nodes in parts of about equal work, none of them empty."""
    before = np.cumsum(work) - work
    found = np.minimum(before * parts // max(1, int(work.sum())), parts - 1).astype(np.int32)
    del before  # an array of all nodes
    # a heavy node may skip a number: no part may be empty, so numbers rise by at most one
    ranks = np.cumsum(np.diff(found, prepend=found[:1]) > 0, dtype=np.int32)
    low = np.arange(parts - len(work), parts, dtype=np.int32)
    return np.maximum(ranks, low, out=ranks)


def metis_parts(start: NDArray[Any], column: NDArray[Any], parts: int) -> NDArray[np.int32]:
    """METIS by recursive bisection with node weights 1 + degree."""
    try:
        with optional_imports():
            import pymetis
    except ImportError:
        raise ValueError(
            "method 'metis' needs pymetis: pip install 'elasticgnn[distributed]', "
            "or method 'clusters'"
        ) from None
    adjacency = pymetis.CSRAdjacency(start, column)
    _, found = pymetis.part_graph(
        parts, adjacency=adjacency, vweights=1 + np.diff(start), recursive=True
    )
    return fill_empty(np.asarray(found, dtype=np.int32), parts)


def fill_empty(found: NDArray[np.int32], parts: int) -> NDArray[np.int32]:
    """The same with one node moved into each part that got none, which happens on tiny graphs."""
    count = np.bincount(found, minlength=parts)
    for empty in np.flatnonzero(count == 0):
        node = int(np.flatnonzero(found == count.argmax())[-1])
        count[found[node]] -= 1
        count[empty] += 1
        found[node] = empty
    return found
