"""Node features of which only the non-zero entries are stored."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

LARGEST_INDEX = 2**31 - 1


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """An immutable (n, f) matrix in CSR form: row i owns the slots start[i] .. start[i + 1].

    start (n + 1,) int64, column (k,) int32, value (k,) float32 or float64; columns ascend
    strictly inside a row, so that equal matrices have equal arrays.

    >>> from elasticgnn.features import SparseFeatures
    >>> features = SparseFeatures.from_dense(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    >>> features.shape, features.num_values, features.to_dense().tolist()
    ((2, 2), 2, [[0.0, 2.0], [1.0, 0.0]])
    """

    start: Tensor
    column: Tensor
    value: Tensor
    num_columns: int

    def __post_init__(self) -> None:
        check_types(self.start, self.column, self.value)
        check_structure(self.start, self.column, self.num_columns)

    @classmethod
    def from_scipy(cls, matrix: Any, dtype: torch.dtype = torch.float32) -> SparseFeatures:
        """The non-zero entries of any scipy sparse matrix; duplicates are added up."""
        tidy = sparse.csr_array(matrix, copy=True)
        tidy.sum_duplicates()
        tidy.eliminate_zeros()
        value = torch.from_numpy(tidy.data.astype(np.float64)).to(dtype)
        if not bool(torch.isfinite(value).all()):  # also what `dtype` cannot hold
            raise ValueError("matrix must hold finite numbers only, got NaN or infinity")
        return cls(
            torch.from_numpy(tidy.indptr.astype(np.int64)),
            torch.from_numpy(tidy.indices.astype(np.int32)),
            value,
            int(tidy.shape[1]),
        )

    @classmethod
    def from_dense(cls, matrix: Tensor) -> SparseFeatures:
        """The non-zero entries of a dense (n, f) matrix."""
        if matrix.ndim != 2:
            raise ValueError(f"matrix must be (n, f), got {tuple(matrix.shape)}")
        row, column = matrix.nonzero(as_tuple=True)
        count = torch.bincount(row, minlength=len(matrix))
        start = torch.cat([count.new_zeros(1), count.cumsum(0)])
        return cls(start, column.to(torch.int32), matrix[row, column], matrix.shape[1])

    @classmethod
    def identity(cls, n: int) -> SparseFeatures:
        """One own column for each of `n` rows."""
        column = torch.arange(n, dtype=torch.int32)
        return cls(torch.arange(n + 1), column, torch.ones(n), n)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, f) of the matrix."""
        return len(self.start) - 1, self.num_columns

    @property
    def num_values(self) -> int:
        """Number of stored values."""
        return len(self.value)

    @property
    def dtype(self) -> torch.dtype:
        """Type of the values."""
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        """Where the values lie."""
        return self.value.device

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def row(self) -> Tensor:
        """Row of every stored value, (k,) int64."""
        every = torch.arange(len(self), device=self.device)
        return torch.repeat_interleave(every, self.start.diff())

    @cached_property
    def transpose_order(self) -> Tensor:
        """Position in `value` of every value of the transpose, (k,) int64."""
        return torch.sort(self.column, stable=True).indices

    @cached_property
    def transpose(self) -> SparseFeatures:
        """The (f, n) matrix of the same values."""
        count = torch.bincount(self.column, minlength=self.num_columns)
        start = torch.cat([count.new_zeros(1), count.cumsum(0)])
        order = self.transpose_order
        row = self.row[order].to(torch.int32)
        return SparseFeatures(start, row, self.value[order], len(self))

    @cached_property
    def transpose_entry(self) -> Tensor:
        """`transpose_order` as the compiled loops read it, (k,) int32."""
        return self.transpose_order.to(torch.int32)

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest of shape and content."""
        digest = hashlib.sha256(f"{self.shape} {self.dtype}".encode())
        for part in (self.start, self.column, self.value):
            digest.update(part.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def row_normalized(self) -> SparseFeatures:
        """Every row divided by its sum; rows with sum 0 stay as they are."""
        zeros = self.value.new_zeros(len(self), dtype=torch.float64)
        total = zeros.index_add(0, self.row, self.value.double())
        safe = torch.where(total == 0, torch.ones_like(total), total)
        return self.with_value((self.value.double() / safe[self.row]).to(self.dtype))

    def with_value(self, value: Tensor) -> SparseFeatures:
        """The same pattern with other values (k,)."""
        return SparseFeatures(self.start, self.column, value, self.num_columns)

    def rows(self, nodes: Tensor) -> SparseFeatures:
        """The rows `nodes`, in that order."""
        count = self.start.diff()[nodes]
        start = torch.cat([count.new_zeros(1), count.cumsum(0)])
        own = torch.arange(int(start[-1]), device=self.device)
        slot = own + torch.repeat_interleave(self.start[nodes] - start[:-1], count)
        return SparseFeatures(start, self.column[slot], self.value[slot], self.num_columns)

    def to_dense(self) -> Tensor:
        """The same numbers as a dense tensor (n, f)."""
        dense = self.value.new_zeros(self.shape)
        return dense.index_put((self.row, self.column.long()), self.value)

    def to_scipy(self) -> sparse.csr_array:
        """The same numbers as a SciPy CSR array (n, f)."""
        parts = (self.value, self.column, self.start)
        data, indices, indptr = (part.detach().cpu().numpy() for part in parts)
        return sparse.csr_array((data, indices, indptr), shape=self.shape)

    def to(self, target: torch.device | str | torch.dtype) -> SparseFeatures:
        """The same matrix on another device, or with values of another dtype."""
        if isinstance(target, torch.dtype):
            return self.with_value(self.value.to(target))
        start, column, value = (part.to(target) for part in (self.start, self.column, self.value))
        return SparseFeatures(start, column, value, self.num_columns)

    def __repr__(self) -> str:
        n, f = self.shape
        return f"SparseFeatures({n} x {f}, {self.num_values} values, {self.dtype})"


def check_types(start: Tensor, column: Tensor, value: Tensor) -> None:
    """Refuses arrays of the wrong type or number of axes."""
    expected = (("start", start, torch.int64), ("column", column, torch.int32))
    for name, part, dtype in expected:
        if part.ndim != 1 or part.dtype != dtype:
            raise ValueError(f"{name} must be (k,) {dtype}, got {tuple(part.shape)} {part.dtype}")
    if value.shape != column.shape or not value.is_floating_point():
        raise ValueError(
            f"value must be {tuple(column.shape)} floating point, "
            f"got {tuple(value.shape)} {value.dtype}"
        )


def check_structure(start: Tensor, column: Tensor, num_columns: int) -> None:
    """Refuses slots outside their row, and columns that are out of range or do not ascend."""
    if not 0 <= num_columns <= LARGEST_INDEX:
        raise ValueError(f"num_columns must be in 0..{LARGEST_INDEX}, got {num_columns}")
    if len(start) == 0 or int(start[0]) != 0 or int(start[-1]) != len(column):
        raise ValueError(f"start must run from 0 to {len(column)}, got {start.tolist()[:1]}..")
    if bool((start.diff() < 0).any()):
        raise ValueError("start must not decrease, got a row of negative length")
    if len(column) == 0:
        return
    low, high = int(column.min()), int(column.max())
    if low < 0 or high >= num_columns:
        raise ValueError(f"column must be in 0..{num_columns - 1}, got {low}..{high}")
    row_begins = torch.zeros(len(column) + 1, dtype=torch.bool, device=column.device)
    row_begins[start] = True
    if bool(((column.diff() <= 0) & ~row_begins[1:-1]).any()):
        raise ValueError("column must ascend strictly inside each row, got one that does not")
