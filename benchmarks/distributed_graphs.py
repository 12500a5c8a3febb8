"""Graphs of the distributed benchmark: a road-like one of any size, and the real ones."""

import numpy as np
import torch

from elasticgnn import Graph
from elasticgnn.graph.merge import Edges


def road_graph(num_edges: int, seed: int = 0) -> Graph:
    """A grid from which two of five edges are missing: long, local, about 1.2 edges a node."""
    side = round((num_edges / 1.2) ** 0.5)
    generator = np.random.default_rng(seed)
    node = np.arange(side * side).reshape(side, side)
    right = (node[:, :-1].ravel(), node[:, 1:].ravel())
    down = (node[:-1].ravel(), node[1:].ravel())
    tail, head = (np.concatenate(pair) for pair in zip(right, down, strict=True))
    keep = generator.random(len(tail)) < 0.6
    tail, head = tail[keep], head[keep]
    order = np.argsort(tail * np.int64(side * side) + head)
    ends = (torch.from_numpy(array[order]) for array in (tail, head))
    weight = torch.ones(len(order), dtype=torch.float64)
    return Graph(Edges(*ends, weight), side * side, unit=True)
