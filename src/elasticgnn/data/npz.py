"""Graphs stored as numpy archives: adjacency, attributes and labels in compressed-row parts."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from elasticgnn.data.npy import NUMBERS, damage_refused, read_array, read_header
from elasticgnn.data.planetoid import simple_graph
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

CSR_FIELDS = ("data", "indices", "indptr", "shape")
UNPACKED_TIMES = 10  # what is unpacked may be that many times as large as the file,
FREELY_UNPACKED = 100 << 20  # or this many bytes
FREE_SIZE = 10_000_000  # rows or columns that a matrix may have without a byte of its own for each


def read_benchmark_npz(name: str, path: Path) -> NodeTask:
    """The whole graph of one archive, either direction an edge; features as stored.

    Without attributes the features are the identity of the whole graph.
    """
    arrays = read_arrays(path)
    adjacency = csr_part(arrays, "adj_", path)
    graph = graph_from_adjacency(adjacency)
    if "attr_data" in arrays:
        features = SparseFeatures.from_scipy(csr_part(arrays, "attr_", path))
    else:
        features = SparseFeatures.identity(graph.num_nodes)
    labels = torch.from_numpy(label_numbers(arrays, path))
    return NodeTask(name, graph, features, labels, class_names(arrays, int(labels.max()) + 1))


def label_numbers(arrays: Mapping[str, NDArray[Any]], path: Path) -> NDArray[np.int64]:
    """The class of each node; whole numbers and at least one."""
    found = arrays["labels"] if "labels" in arrays else np.empty(0)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu":
        raise ValueError(
            f"{path} must hold whole numbers 'labels', got {found.shape} {found.dtype}"
        )
    return found.astype(np.int64)


def read_adjacency(path: Path) -> Graph:
    """The graph of a scipy sparse archive."""
    return graph_from_adjacency(csr_part(read_arrays(path), "", path))


def read_arrays(path: Path) -> Archive:
    """The archive at `path`; a member is unpacked when it is asked for."""
    with damage_refused(path, "a numpy .npz archive"):
        return Archive(path)


class Archive(Mapping[str, NDArray[Any]]):
    """The arrays of a .npz file that are plain numbers or text; pickled objects are left out."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        self._path = path
        self._zip = zipfile.ZipFile(io.BytesIO(content))
        self._entries = {
            entry.filename.removesuffix(".npy"): entry for entry in self._zip.infolist()
        }
        self._arrays: dict[str, NDArray[Any]] = {}
        self._left = max(FREELY_UNPACKED, UNPACKED_TIMES * len(content))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self:
            raise KeyError(name)
        if name not in self._arrays:
            with self._refusing():
                self._arrays[name] = self._unpack(self._entries[name])
        return self._arrays[name]

    def _unpack(self, entry: zipfile.ZipInfo) -> NDArray[Any]:
        self._left -= entry.file_size
        if self._left < 0:
            raise ValueError(
                f"it unpacks to more than {UNPACKED_TIMES} times its size; save it uncompressed"
            )
        with self._zip.open(entry) as member:
            return read_array(member, entry.file_size)

    def __contains__(self, name: object) -> bool:
        if name not in self._entries:
            return False
        with self._refusing(), self._zip.open(self._entries[str(name)]) as member:
            return not read_header(member)[1].hasobject

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._entries if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _refusing(self) -> AbstractContextManager[None]:
        return damage_refused(self._path, "a numpy .npz archive")


def csr_part(arrays: Mapping[str, NDArray[Any]], prefix: str, path: Path) -> sparse.csr_array:
    """The matrix whose parts are called `prefix`data, indices, indptr and shape."""
    missing = [field for field in CSR_FIELDS if prefix + field not in arrays]
    if missing:
        raise ValueError(
            f"{path} must hold the array {prefix + missing[0]!r}, got {sorted(arrays)}"
        )
    data, indices, indptr, shape = (arrays[prefix + field] for field in CSR_FIELDS)
    try:
        sizes = matrix_shape(shape, path)
        matrix = sparse.csr_array((data, indices, indptr), shape=sizes)
        matrix.check_format(full_check=True)
        if matrix.dtype.kind not in NUMBERS:
            raise ValueError(f"values of {matrix.dtype}")
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} must hold a valid matrix {prefix!r}, got: {error}") from None
    return matrix


def matrix_shape(shape: NDArray[Any], path: Path) -> tuple[int, int]:
    """The two sizes, refused where a small file claims a matrix that would fill the memory."""
    sizes = tuple(int(size) for size in shape.tolist())
    if len(sizes) != 2 or min(sizes) < 0 or max(sizes) > max(FREE_SIZE, path.stat().st_size):
        raise ValueError(f"shape {sizes}")
    return sizes[0], sizes[1]


def graph_from_adjacency(matrix: sparse.csr_array) -> Graph:
    """The undirected graph of all non-zero entries, weight 1, self-loops dropped."""
    entries = sparse.coo_array(matrix)
    tail, head = (axis[entries.data != 0].astype(np.int64) for axis in entries.coords)
    return simple_graph(tail, head, matrix.shape[0])


def class_names(arrays: Mapping[str, NDArray[Any]], num_classes: int) -> tuple[str, ...]:
    """Names when the archive holds them as text, numbers otherwise."""
    if "class_names" in arrays:
        return tuple(str(name) for name in arrays["class_names"])
    return tuple(str(label) for label in range(num_classes))
