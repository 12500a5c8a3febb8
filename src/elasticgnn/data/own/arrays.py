"""Edges, features and labels out of numpy archives (.npz); nothing pickled is ever read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from elasticgnn.data.npz import csr_part, matrix_shape, read_arrays
from elasticgnn.data.own.ids import Ids, id_array
from elasticgnn.data.own.records import EdgeRows, FeatureRows, FileContent, LabelRows
from elasticgnn.data.own.table import cell_text
from elasticgnn.features import SparseFeatures

Arrays = Mapping[str, NDArray[Any]]


def read_archive(path: Path) -> FileContent:
    """Whatever of edges, features and labels the archive holds under the usual names."""
    arrays = read_arrays(path)
    return FileContent(
        archive_edges(arrays, path), archive_features(arrays, path), archive_labels(arrays, path)
    )


def read_feature_archive(path: Path) -> FeatureRows:
    """Features of an archive made for them: a sparse matrix, or an array x or features."""
    arrays = read_arrays(path)
    if "indptr" in arrays or "row" in arrays:
        matrix = bare_matrix(arrays, path)
        return sparse_features(matrix, row_ids(arrays, matrix.shape[0], path), path)
    found = archive_features(arrays, path)
    if found is None:
        raise ValueError(f"{path} must hold an array 'x' or a sparse matrix, got {sorted(arrays)}")
    return found


def read_label_archive(path: Path) -> LabelRows:
    """Labels of an archive made for them: an array labels or y."""
    arrays = read_arrays(path)
    found = archive_labels(arrays, path)
    if found is None:
        raise ValueError(f"{path} must hold an array 'labels' or 'y', got {sorted(arrays)}")
    return found


def archive_edges(arrays: Arrays, path: Path) -> EdgeRows | None:
    """Edges from edge_index (2, E), from adj_… parts, or from a saved scipy matrix."""
    if "edge_index" in arrays:
        return edges_from_index(arrays, path)
    if "adj_indptr" in arrays:
        matrix = csr_part(arrays, "adj_", path)
    elif "indptr" in arrays or "row" in arrays:
        matrix = bare_matrix(arrays, path)
    else:
        return None
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{path}: the adjacency matrix must be square, got {matrix.shape}")
    entries = sparse.coo_array(matrix)
    ids = row_ids(arrays, matrix.shape[0], path)
    source, target = (ids[axis] for axis in entries.coords)
    weight = checked_weight(entries.data, path)
    return EdgeRows(path, source, target, weight, range(len(source)), ids)


def edges_from_index(arrays: Arrays, path: Path) -> EdgeRows:
    """Edges of an archive's `edge_index` (2, E), by `node_ids` where it has them."""
    index = arrays["edge_index"]
    if index.ndim != 2 or 2 not in index.shape or index.dtype.kind not in "iu":
        raise ValueError(
            f"{path}: edge_index must be (2, E) whole numbers, got {index.shape} {index.dtype}"
        )
    index = index if index.shape[0] == 2 else index.T
    given = row_ids(arrays, None, path) if "node_ids" in arrays else None
    low, high = (int(index.min()), int(index.max())) if index.size else (0, -1)
    if low < 0 or (given is not None and high >= len(given)):
        last = "on" if given is None else f"to {len(given) - 1}"
        raise ValueError(f"{path}: edge_index must name nodes from 0 {last}, got {low}..{high}")
    weight = None
    if "edge_weight" in arrays:
        weight = checked_weight(arrays["edge_weight"], path)
        if weight.shape != (index.shape[1],):
            raise ValueError(f"{path}: edge_weight must be ({index.shape[1]},), got {weight.shape}")
    numbers = index.astype(np.int64)
    source, target = (axis if given is None else given[axis] for axis in numbers)
    return EdgeRows(path, source, target, weight, range(len(source)), given)


def checked_weight(values: NDArray[Any], path: Path) -> NDArray[np.float64]:
    """The weights as float64; ValueError names the first that is not finite and >= 0."""
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{path}: weights must be numbers, got {values.dtype}")
    weight: NDArray[np.float64] = values.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(
            f"{path}, row {bad[0]}: weight must be a finite number >= 0, got {weight[bad[0]]}"
        )
    return weight


def archive_features(arrays: Arrays, path: Path) -> FeatureRows | None:
    """Features of an archive, sparse (`attr_*`) or dense (`x`, `features`); None without."""
    if "attr_indptr" in arrays:
        matrix = csr_part(arrays, "attr_", path)
        return sparse_features(matrix, row_ids(arrays, matrix.shape[0], path), path)
    for name in ("x", "features"):
        if name in arrays:
            return dense_features(arrays, name, path)
    return None


def dense_features(arrays: Arrays, name: str, path: Path) -> FeatureRows:
    """Rows of float32 from an array (n, f); ValueError names the first bad number."""
    values = arrays[name]
    if values.ndim != 2 or values.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: {name} must be (n, f) numbers, got {values.shape} {values.dtype}"
        )
    numbers = values.astype(np.float32)
    bad = np.argwhere(~np.isfinite(numbers))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{path}, row {row}, column {column}: a feature must be a finite number, "
            f"got {values[row, column]}"
        )
    return FeatureRows(path, row_ids(arrays, len(values), path), torch.from_numpy(numbers))


def sparse_features(matrix: sparse.csr_array, ids: Ids, path: Path) -> FeatureRows:
    """Rows from a CSR matrix; an error names the file."""
    try:
        return FeatureRows(path, ids, SparseFeatures.from_scipy(matrix))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def archive_labels(arrays: Arrays, path: Path) -> LabelRows | None:
    """Class names as text; -1, NaN and empty text are unknown."""
    name = "labels" if "labels" in arrays else "y"
    if name not in arrays:
        return None
    values = arrays[name]
    if values.ndim != 1:
        raise ValueError(f"{path}: {name} must be (n,), got {values.shape}")
    unknown = {"", "-1"} if values.dtype.kind in "if" else {""}
    texts = [cell_text(value) for value in values.tolist()]
    names = [None if text in unknown else text for text in texts]
    return LabelRows(path, row_ids(arrays, len(texts), path), names, range(len(texts)), name)


def row_ids(arrays: Arrays, count: int | None, path: Path) -> Ids:
    """The ids of the rows: node_ids when the archive has it, else 0, 1, 2, …"""
    if "node_ids" not in arrays:
        return np.arange(count or 0, dtype=np.int64)
    ids = [cell_text(value) for value in arrays["node_ids"].tolist()]
    if len(set(ids)) != len(ids) or (count is not None and len(ids) != count):
        raise ValueError(f"{path}: node_ids must be {count or len(ids)} different ids")
    return id_array(ids)


def bare_matrix(arrays: Arrays, path: Path) -> sparse.csr_array:
    """The matrix that scipy.sparse.save_npz wrote, whatever its form."""
    stored = str(arrays.get("format", np.array(b"csr")).item())
    try:
        shape = matrix_shape(arrays["shape"], path)
        if "row" in arrays:
            places = arrays["row"], arrays["col"]
            return sparse.csr_array((arrays["data"], places), shape=shape)
        kind = sparse.csc_array if "csc" in stored else sparse.csr_array
        parts = arrays["data"], arrays["indices"], arrays["indptr"]
        matrix = kind(parts, shape=shape)
        matrix.check_format(full_check=True)
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{path} must hold a valid matrix, got: {error}") from None
    return sparse.csr_array(matrix)
