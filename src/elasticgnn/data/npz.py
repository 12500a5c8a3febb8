"""Graphs stored as numpy archives: adjacency, attributes and labels in compressed-row parts."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from elasticgnn.data.planetoid import simple_graph
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

CSR_FIELDS = ("data", "indices", "indptr", "shape")
# What zipfile, zlib and numpy raise for a file that was damaged or made to annoy.
DAMAGE = (
    *(ValueError, TypeError, KeyError, EOFError, OSError, NotImplementedError, RuntimeError),
    *(MemoryError, OverflowError, zipfile.BadZipFile, zlib.error, struct.error),
)


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
    labels = torch.from_numpy(arrays["labels"].astype(np.int64))
    return NodeTask(name, graph, features, labels, class_names(arrays, int(labels.max()) + 1))


def read_adjacency(path: Path) -> Graph:
    """The graph of a scipy sparse archive."""
    return graph_from_adjacency(csr_part(read_arrays(path), "", path))


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of the archive that is plain numbers or text; pickled objects are left out."""
    content = io.BytesIO(path.read_bytes())
    arrays: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(content) as archive:
            for entry in archive.infolist():
                if not is_pickled(archive, entry):
                    with archive.open(entry) as member:
                        array = np.lib.format.read_array(member, allow_pickle=False)
                    arrays[entry.filename.removesuffix(".npy")] = array
    except DAMAGE as error:
        raise ValueError(f"{path} must be a numpy .npz archive, got: {error!r}") from None
    return arrays


def is_pickled(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    """Whether a member holds Python objects, judged by its header alone."""
    with archive.open(entry) as member:
        version = np.lib.format.read_magic(member)
        reader = np.lib.format.read_array_header_1_0
        if version >= (2, 0):
            reader = np.lib.format.read_array_header_2_0
        _shape, _order, dtype = reader(member)
    return bool(dtype.hasobject)


def csr_part(arrays: dict[str, NDArray[Any]], prefix: str, path: Path) -> sparse.csr_array:
    """The matrix whose parts are called `prefix`data, indices, indptr and shape."""
    missing = [field for field in CSR_FIELDS if prefix + field not in arrays]
    if missing:
        raise ValueError(
            f"{path} must hold the array {prefix + missing[0]!r}, got {sorted(arrays)}"
        )
    data, indices, indptr, shape = (arrays[prefix + field] for field in CSR_FIELDS)
    try:
        matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} must hold a valid matrix {prefix!r}, got: {error}") from None
    return matrix


def graph_from_adjacency(matrix: sparse.csr_array) -> Graph:
    """The undirected graph of all non-zero entries, weight 1, self-loops dropped."""
    entries = sparse.coo_array(matrix)
    tail, head = (axis[entries.data != 0].astype(np.int64) for axis in entries.coords)
    return simple_graph(tail, head, matrix.shape[0])


def class_names(arrays: dict[str, NDArray[Any]], num_classes: int) -> tuple[str, ...]:
    """Names when the archive holds them as text, numbers otherwise."""
    if "class_names" in arrays:
        return tuple(str(name) for name in arrays["class_names"])
    return tuple(str(label) for label in range(num_classes))
