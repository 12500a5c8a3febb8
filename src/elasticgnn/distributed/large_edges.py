"""Edge files of many millions of rows: read in chunks as numbers, never as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.npy import map_npy
from elasticgnn.extras import optional_imports

CHUNK = 1 << 21  # rows
Chunk = tuple[NDArray[Any], NDArray[Any]]


def pairs_of(path: Path, num_nodes: int) -> Iterator[Chunk]:
    """Lower and higher ends of an edge file's rows, in chunks; self-loops are left out."""
    for source, target in chunks(path):
        check_ids(path, source, target, num_nodes)
        low, high = np.minimum(source, target), np.maximum(source, target)
        keep = low != high
        yield low[keep].astype(np.int64), high[keep].astype(np.int64)


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
