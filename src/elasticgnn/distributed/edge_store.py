"""Edges that need not fit the memory: each undirected one once, sorted, in files of a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elasticgnn.distributed.large_edges import pairs_of
from elasticgnn.distributed.spill import Spill

BUCKET = 1 << 22  # rows that are sorted at a time, unless there would be too many files
MOST_BUCKETS = 256
BINS = 1 << 16  # of the histogram by which buckets get about equal sizes


class Piece(NamedTuple):
    """Consecutive edges: lower ends, higher ends, and how often each was named."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    times: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class EdgeStore:
    """The edges of a file, merged; a pair that is named again adds its weight.

    A list in which every edge stands twice holds both directions: its weights are 1.
    """

    spill: Spill
    num_nodes: int
    num_edges: int
    is_unit: bool  # all weights are 1
    degree: NDArray[np.int32]  # (n,) neighbours of each node

    def pieces(self) -> Iterator[Piece]:
        """All edges in the order of (lower end, higher end), some millions at a time."""
        for number in range(self.spill.count):
            key, count = self.spill.read(number, "key"), self.spill.read(number, "count")
            yield Piece(key // self.num_nodes, key % self.num_nodes, count)

    def weight_of(self, piece: Piece) -> NDArray[np.float64]:
        """The weights of a piece's edges."""
        if self.is_unit:
            return np.ones(len(piece.times))
        return piece.times.astype(np.float64)

    @cached_property
    def fingerprint(self) -> str:
        """That of the `Graph` with these edges: SHA-256 of nodes, ends and weights."""
        digest = hashlib.sha256(f"{self.num_nodes} degree".encode())
        for field in ("low", "high"):
            for piece in self.pieces():
                digest.update(getattr(piece, field).data)
        for piece in self.pieces():
            digest.update(self.weight_of(piece).data)
        return digest.hexdigest()


def merge_file(path: Path, num_nodes: int, folder: Path) -> EdgeStore:
    """The edges of a file with nodes 0 .. num_nodes - 1, sorted and merged within `folder`."""
    first = bucket_starts(path, num_nodes)
    rough = Spill(folder, "bucket", len(first))
    for low, high in pairs_of(path, num_nodes):
        rough.add(np.searchsorted(first, low, side="right") - 1, key=low * num_nodes + high)
    return merge_buckets(rough, Spill(folder, "merged", len(first)), num_nodes)


def bucket_starts(path: Path, num_nodes: int) -> NDArray[np.int64]:
    """First nodes of ranges whose nodes are the lower ends of about equally many rows."""
    step = -(-max(num_nodes, 1) // BINS)
    rows = np.zeros(BINS, dtype=np.int64)
    for low, _ in pairs_of(path, num_nodes):
        rows += np.bincount(low // step, minlength=BINS)
    buckets = min(max(1, -(-int(rows.sum()) // BUCKET)), MOST_BUCKETS)
    ends = np.arange(1, buckets) * (rows.sum() / buckets)
    bins = np.searchsorted(np.cumsum(rows), ends, side="right")
    return np.unique(np.concatenate([[0], bins])) * step


def merge_buckets(rough: Spill, merged: Spill, num_nodes: int) -> EdgeStore:
    """Every bucket sorted by itself; together they are in order, since ranges of nodes are."""
    degree = np.zeros(num_nodes, dtype=np.int32)
    edges, least, most = 0, 2, 1
    for number in range(rough.count):
        key, count = merged_keys(rough.read(number, "key"))
        rough.remove(number, "key")
        np.add.at(degree, key // num_nodes, 1)
        np.add.at(degree, key % num_nodes, 1)
        merged.write(number, key=key, count=count)
        edges += len(key)
        least, most = (min(least, count.min(initial=least)), max(most, count.max(initial=most)))
    is_unit = bool(most == 1 or least == most == 2)
    return EdgeStore(merged, num_nodes, edges, is_unit, degree)


def merged_keys(key: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Each key once in ascending order, and how often it was there; sorts `key` itself."""
    key.sort()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    count = np.diff(first, append=len(key)).astype(np.int32)
    return key[first], count
