"""Matrix Market files, read line by line: damaged ones end scipy's reader in a segmentation fault.

https://math.nist.gov/MatrixMarket/formats.html: a line that says the kind, comments, a line of
sizes, then one entry per line, rows and columns counted from 1.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}
FREE_NODES = 100_000  # that a matrix may have without a byte of its own for each


def read_matrix(path: Path) -> sparse.coo_array:
    """The matrix of a file; entries that its symmetry implies are put in."""
    with path.open(encoding="utf-8") as file:
        form, field, symmetry = kind_of(file.readline())
        sizes = size_line(file, 3 if form == "coordinate" else 2)
        if min(sizes) < 0 or max(sizes[:2]) > max(FREE_NODES, path.stat().st_size):
            raise ValueError(f"sizes {sizes} in a file of {path.stat().st_size} bytes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # numpy on a file without entries
            body = np.loadtxt(file, comments="%", ndmin=2)
    if form == "array":
        return sparse.coo_array(dense(body, (sizes[0], sizes[1]), SYMMETRIES[symmetry]))
    rows, columns, values = entries(body, sizes, field)
    if sign := SYMMETRIES[symmetry]:
        below = rows != columns
        mirrored = (columns[below], rows[below])
        rows, columns = np.append(rows, mirrored[0]), np.append(columns, mirrored[1])
        values = np.append(values, sign * values[below])
    return sparse.coo_array((values, (rows, columns)), shape=(sizes[0], sizes[1]))


def kind_of(line: str) -> tuple[str, str, str]:
    """Form, field and symmetry that the first line names."""
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise ValueError("no line '%%MatrixMarket matrix ...'")
    form, field, symmetry = words[2:]
    known = form in ("coordinate", "array") and field in FIELDS and symmetry in SYMMETRIES
    if not known or (form == "array" and field == "pattern"):
        raise ValueError(f"a matrix that is {form} {field} {symmetry}")
    return form, field, symmetry


def size_line(file: IO[str], count: int) -> list[int]:
    """The `count` whole numbers of the first line that is no comment."""
    line = next((line for line in file if line.strip() and not line.startswith("%")), "")
    sizes = [int(word) for word in line.split()]
    if len(sizes) != count:
        raise ValueError(f"{len(sizes)} sizes instead of {count}")
    return sizes


def entries(
    body: NDArray[np.float64], sizes: list[int], field: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Row, column and value of each listed entry; the value of a pattern is 1."""
    width = 2 if field == "pattern" else 3
    if len(body) != sizes[2] or (len(body) and body.shape[1] != width):
        raise ValueError(f"entries {body.shape} instead of {(sizes[2], width)}")
    body = body.reshape(-1, width)
    ends = body[:, :2]
    if not ((ends == np.floor(ends)) & (ends >= 1) & (ends <= sizes[:2])).all():
        raise ValueError(f"an entry outside the {sizes[0]} x {sizes[1]} matrix")
    rows, columns = ends.astype(np.int64).T - 1
    return rows, columns, np.ones(len(body)) if width == 2 else body[:, 2]


def dense(body: NDArray[np.float64], shape: tuple[int, int], sign: float) -> NDArray[np.float64]:
    """A matrix given value by value, column by column; only its lower half if it is symmetric."""
    values = body.ravel()
    skip = 1 if sign < 0 else 0  # a skew-symmetric matrix leaves out its diagonal of zeros
    count = sum(max(0, shape[0] - k - skip) for k in range(shape[1])) if sign else np.prod(shape)
    if len(values) != count or (sign and shape[0] != shape[1]):
        raise ValueError(f"{len(values)} values for a matrix {shape}")
    if not sign:
        return values.reshape(shape, order="F")
    matrix = np.zeros(shape)
    columns, rows = np.triu_indices(shape[0], skip)
    matrix[rows, columns] = values
    return matrix + sign * np.tril(matrix, -1).T
