"""Edge files of many millions of rows: read in chunks as numbers, never as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.data.npy import map_npy
from elasticgnn.extras import optional_imports
from elasticgnn.graph import Graph

CHUNK = 1 << 22  # rows
FREE_NODES = 1_000_000  # that may be there without an edge of their own
Chunk = tuple[NDArray[Any], NDArray[Any]]


def read_large_task(edges: Path, features: Path | None, labels: Path | None) -> NodeTask:
    """The task of .npy files: edges (2, E) or (E, 2), features (n, f), labels (n,), -1 unknown.

    Edges may also be a .parquet file with whole-number columns source and target. Nodes are
    0 .. n - 1, n being the rows of the features, or else of the labels, or the largest id + 1.
    """
    rows = None if features is None else map_npy(features)
    classes = None if labels is None else map_npy(labels)
    given = rows if rows is not None else classes
    graph = read_large_graph(edges, None if given is None else len(given))
    if rows is None:
        raise ValueError(f"features must be given with {edges} (a .npy array), got none")
    if classes is None:
        classes = np.full(graph.num_nodes, -1)
    numbers = torch.from_numpy(np.array(classes, dtype=np.int64))
    return NodeTask(
        edges.stem,
        graph,
        torch.from_numpy(np.array(rows, dtype=np.float32)),
        numbers,
        tuple(str(k) for k in range(int(numbers.max()) + 1)),
    )


def read_large_graph(path: Path, num_nodes: int | None) -> Graph:
    """The undirected graph of an edge file; a pair that is named again adds its weight."""
    keys: list[NDArray[np.int64]] = []
    size = np.int64(num_nodes or number_of_nodes(path))
    for source, target in chunks(path):
        check_ids(path, source, target, int(size))
        low, high = np.minimum(source, target), np.maximum(source, target)
        keep = low != high
        keys.append(low[keep].astype(np.int64) * size + high[keep])
    key = np.concatenate(keys) if keys else np.empty(0, dtype=np.int64)
    keys.clear()
    key.sort()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    count = np.diff(first, append=len(key))
    pairs = key[first]
    del key
    weight = torch.from_numpy(count.astype(np.float64))
    index = torch.from_numpy(np.stack([pairs // size, pairs % size]))
    if len(count) and bool((count == 2).all()):
        weight = torch.ones_like(weight)  # a list of both directions
    return Graph.from_edge_index(index, int(size), weight, undirected=True)


def number_of_nodes(path: Path) -> int:
    """The largest id + 1, refused where a small file names a node that would fill the memory."""
    found = 1 + max((int(max(a.max(), b.max())) for a, b in chunks(path)), default=0)
    if found > max(FREE_NODES, path.stat().st_size):
        raise ValueError(
            f"{path} must number its nodes from 0 on without large gaps, got node {found - 1}"
        )
    return found


def chunks(path: Path) -> Iterator[Chunk]:
    """Sources and targets, a few million at a time."""
    if path.suffix == ".parquet":
        yield from parquet_chunks(path)
        return
    array = map_npy(path)
    if array.ndim != 2 or 2 not in array.shape or array.dtype.kind not in "iu":
        raise ValueError(
            f"{path} must be (2, E) or (E, 2) whole numbers, got {array.shape} {array.dtype}"
        )
    array = array if array.shape[0] == 2 else array.T
    for start in range(0, array.shape[1], CHUNK):
        source, target = np.asarray(array[:, start : start + CHUNK])
        yield source, target


def parquet_chunks(path: Path) -> Iterator[Chunk]:
    """Sources and targets of a Parquet file, chunk by chunk."""
    with optional_imports():
        from pyarrow import parquet
    file = parquet.ParquetFile(path)
    names = sorted(file.schema_arrow.names)
    if names != ["source", "target"]:  # a weight left out would change the result without a word
        raise ValueError(f"{path} must have the columns source and target alone, got {names}")
    for batch in file.iter_batches(CHUNK):
        ends = [batch.column(name) for name in ("source", "target")]
        if any(column.null_count for column in ends):
            raise ValueError(f"{path} must name both ends of every edge, got an empty cell")
        source, target = (column.to_numpy(zero_copy_only=False) for column in ends)
        yield source, target


def check_ids(path: Path, source: NDArray[Any], target: NDArray[Any], size: int) -> None:
    """Refuses ids that are not whole numbers in 0..size-1."""
    for ends in (source, target):
        if ends.dtype.kind not in "iu":
            raise ValueError(f"{path} must name nodes by whole numbers, got {ends.dtype}")
        if len(ends) and not (ends.min() >= 0 and ends.max() < size):
            raise ValueError(
                f"{path} must name nodes 0..{size - 1}, got {ends.min()}..{ends.max()}"
            )
