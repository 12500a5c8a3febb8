"""A task in .npy and .parquet files of any size: parts without the edges in memory."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data.npy import map_npy
from elasticgnn.data.task import check_finite, check_labels
from elasticgnn.distributed.assignment import assign, equal_parts
from elasticgnn.distributed.edge_store import EdgeStore, merge_file
from elasticgnn.distributed.manifest import Manifest
from elasticgnn.distributed.part import Part
from elasticgnn.distributed.source import Arrays
from elasticgnn.distributed.spill import Spill
from elasticgnn.distributed.writer import MERGE, check_claim, write_source
from elasticgnn.files import check_folder
from elasticgnn.graph.slots import build_slots

ROWS = 1 << 18  # of features at a time


def partition_files(
    edges: Path,
    features: Path | None,
    labels: Path | None,
    folder: Path,
    *,
    parts: int = 64,
    method: str = "metis",
    progress: Callable[[int], None] | None = None,
) -> Manifest:
    """The manifest of `folder`, which holds the task of the files in `parts` parts.

    edges: (2, E) or (E, 2) whole numbers as .npy, or columns source and target as .parquet;
    features (n, f) and labels (n,), -1 where unknown, as .npy. Nodes are 0..n-1. Edges are sorted
    and merged in files within `folder`; with method "blocks" they are never all in memory.
    """
    if features is None:
        raise ValueError(f"features must be given with {edges} (a .npy array), got none")
    check_folder(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    check_claim(folder)
    workshop = folder / MERGE
    shutil.rmtree(workshop, ignore_errors=True)  # of a call that was killed
    workshop.mkdir()
    try:
        source = FileSource(edges, map_npy(features), labels, workshop)
        return write_source(
            source, folder, parts=parts, method=method, own_files=True, progress=progress
        )
    finally:
        shutil.rmtree(workshop)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


class FileSource:
    """The task of arrays on the disk, of which one part at a time is in memory."""

    def __init__(
        self, edges: Path, features: NDArray[Any], labels: Path | None, workshop: Path
    ) -> None:
        if features.ndim != 2 or len(features) >= 2**31:
            raise ValueError(f"features must be (n, f) with n < 2^31, got {features.shape}")
        self.name, self.features, self.workshop = edges.stem, features, workshop
        self.num_nodes = len(features)
        self.labels = read_labels(labels, self.num_nodes)
        self.class_names = tuple(str(k) for k in range(int(self.labels.max(initial=-1)) + 1))
        check_labels(torch.from_numpy(self.labels), len(self.class_names))
        self.store: EdgeStore = merge_file(edges, self.num_nodes, workshop)

    def feature_rows(self) -> Iterator[NDArray[np.float32]]:
        """All features, some rows at a time."""
        for first in range(0, self.num_nodes, ROWS):
            rows = np.array(self.features[first : first + ROWS], dtype=np.float32, order="C")
            check_finite(torch.from_numpy(rows), first)
            yield rows

    @cached_property
    def fingerprint(self) -> str:
        """That of the `NodeTask` with this content."""
        digest = hashlib.sha256(self.store.fingerprint.encode())
        digest.update(f"{self.features.shape} {torch.float32}".encode())
        for rows in self.feature_rows():
            digest.update(rows.data)
        digest.update(self.labels.data)
        digest.update("\0".join(self.class_names).encode())
        return digest.hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of the manifest that describe the task itself."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "num_nodes": self.num_nodes,
            "num_edges": self.store.num_edges,
            "normalization": "degree",
            "class_names": self.class_names,
            "num_features": self.features.shape[1],
            "feature_names": None,
            "sparse": False,
            "split_rule": "10-10-80",
        }

    @property
    def arrays(self) -> Arrays:
        """The labels."""
        return {"labels": self.labels}

    node_ids = None

    def assignment(self, parts: int, method: str) -> NDArray[np.int32]:
        """The part of each node (n,); all methods but "blocks" need the neighbours in memory."""
        if method == "blocks" and parts > 1:
            return equal_parts(1 + self.store.degree.astype(np.int64), parts)
        ends = [(piece.low, piece.high) for piece in self.store.pieces()]
        tail, head = (torch.from_numpy(np.concatenate(side)) for side in zip(*ends, strict=True))
        slots = build_slots(tail, head, self.num_nodes)
        return assign(slots.start, slots.column, parts, method)

    def parts(self, assignment: NDArray[np.int32]) -> Iterator[Part]:
        """The parts in their order, each put together from the edges of its nodes."""
        size, unit = self.num_nodes, self.store.is_unit
        spill = Spill(self.workshop, "part", int(assignment.max(initial=-1)) + 1)
        for low, high, count in self.store.pieces():
            for one, other in ((low, high), (high, low)):
                more = {} if unit else {"count": count}
                spill.add(assignment[one], key=one * size + other, **more)
        for number in range(spill.count):
            nodes = np.flatnonzero(assignment == number)
            yield joined_part(spill, number, nodes, size, unit)
            for column in ("key", "count"):
                spill.remove(number, column)

    def feature_arrays(self, nodes: NDArray[np.int64]) -> Arrays:
        """Rows of the features."""
        return {"features": np.asarray(self.features[nodes], dtype=np.float32)}


def joined_part(spill: Spill, number: int, nodes: NDArray[np.int64], size: int, unit: bool) -> Part:
    """One part out of its directed edges, which it sorts by (node, neighbour)."""
    key, weight = spill.read(number, "key"), None
    if unit:
        key.sort()
    else:
        order = np.argsort(key)
        key, weight = key[order], spill.read(number, "count")[order].astype(np.float64)
    start = np.append(np.searchsorted(key, nodes * size), len(key))
    return Part(number, nodes, start, (key % size).astype(np.int32), weight)


def read_labels(path: Path | None, num_nodes: int) -> NDArray[np.int64]:
    """Classes (n,), -1 where unknown; all of them without a file."""
    if path is None:
        return np.full(num_nodes, -1)
    found = map_npy(path)
    if found.shape != (num_nodes,) or found.dtype.kind not in "iu":
        raise ValueError(
            f"{path} must be ({num_nodes},) whole numbers, a class for each row of the features, "
            f"got {found.shape} {found.dtype}"
        )
    return np.array(found, dtype=np.int64)
