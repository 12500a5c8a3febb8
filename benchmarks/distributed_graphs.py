"""Graphs of the distributed benchmark: road-like ones of any size, in memory or in files."""

from collections.abc import Iterator
from pathlib import Path

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


def save_roads(num_edges: int, folder: Path, seed: int = 0) -> dict[str, int]:
    """The sizes of the same graph, whose sorted edges go to edges.npy; some rows in memory."""
    side = round((num_edges / 1.2) ** 0.5)
    count = sum(len(tail) for tail, _ in road_edges(side, seed))
    shape, first = (2, count), 0
    out = np.lib.format.open_memmap(folder / "edges.npy", "w+", dtype=np.int64, shape=shape)
    for pair in road_edges(side, seed):
        last = first + len(pair[0])
        out[:, first:last] = pair
        first = last
    out.flush()
    return {"nodes": side * side, "edges": count}


def road_edges(side: int, seed: int, rows: int = 256) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sorted edges of `rows` rows of the grid at a time."""
    right, down = (np.random.default_rng(seed) for _ in range(2))
    down.bit_generator.advance(side * (side - 1))  # behind the numbers of the edges to the right
    for first in range(0, side, rows):
        node = np.arange(first * side, min(first + rows, side) * side).reshape(-1, side)
        keep_right = right.random((len(node), side - 1)) < 0.6
        below = node[: min(len(node), side - 1 - first)]  # the last row has nothing below
        keep_down = down.random(below.shape) < 0.6
        tail = np.concatenate([node[:, :-1][keep_right], below[keep_down]])
        head = np.concatenate([node[:, 1:][keep_right], below[keep_down] + side])
        order = np.lexsort((head, tail))
        yield tail[order], head[order]
