"""Symmetric positive definite systems of one pattern, factorised again and again.

Banded Cholesky where the band is narrow (chains), compiled for the narrowest and LAPACK's for
others, else the compiled sparse Cholesky. Without the compiled loops, or beyond eight channels,
qdldl where it is installed (extra "solver"), else scipy's SuperLU.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from elasticgnn.extras import optional_imports
from elasticgnn.kernels import native
from elasticgnn.solver.linear_algebra.fill import check_pattern, elimination
from elasticgnn.solver.linear_algebra.pattern import Pattern, Places, band_order, bandwidth
from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.mesh import loops

WIDEST_BAND = 48


class SingularSystemError(ArithmeticError):
    """The matrix is not positive definite to rounding."""


class Factor(Protocol):
    """Solves A y = b once A is factorised."""

    room: Array  # where the numbers of A stand before they are factorised

    def places(self, pattern: Pattern) -> Places:
        """(e, d d) of each number of the pattern in the raveled room; -1 above the diagonal."""

    def factorise(self) -> None:
        """Take what stands in the room; SingularSystemError where it is not definite."""

    def solve(self, right: Array) -> Array:
        """y (N,); `right` may be overwritten."""


def build_factor(pattern: Pattern) -> Factor:
    """The solver that suits a pattern whose own order has a wide band."""
    position = band_order(pattern)
    width = bandwidth(pattern, position)
    if width <= WIDEST_BAND:
        return BandFactor(pattern.nodes, pattern.channels, width, position)
    if native is not None and pattern.channels <= native.INTERIOR_CHANNELS:
        return CholeskyFactor(pattern)
    check_pattern(pattern)
    try:
        return QdldlFactor(pattern)
    except ImportError:
        return LuFactor(pattern)


class BandFactor:
    """Cholesky within a band: number (j, i) of the room is at row j + i of column j."""

    def __init__(
        self, nodes: int, channels: int, width: int, position: NDArray[np.int32] | None = None
    ) -> None:
        self.position = position
        self.order: Places | None = None
        if position is not None:
            self.order = (
                position.astype(np.int64)[:, None] * channels + np.arange(channels)
            ).ravel()
        self.compiled = native is not None and width <= native.INTERIOR_BAND
        self.room: Array = np.zeros((nodes * channels, width + 1))

    def places(self, pattern: Pattern) -> Places:
        """(e, d d) of each number of the pattern in the raveled room; -1 above the diagonal."""
        row, column = pattern.wide_row, pattern.wide_column
        if self.order is not None:
            row, column = self.order[row], self.order[column]
            row, column = np.maximum(row, column), np.minimum(row, column)
        return np.where(pattern.is_lower, column * (self.room.shape[1] - 1) + row, -1)

    def factorise(self) -> None:
        """Factorises what stands in the room, in its place."""
        if self.compiled:
            definite = loops().band_factorise(self.room.shape[1] - 1, len(self.room), self.room)
        else:
            from scipy.linalg.lapack import dpbtrf

            definite = dpbtrf(self.room.T, lower=1, overwrite_ab=1)[1] == 0
        if not definite:
            raise SingularSystemError

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (N,), which may be overwritten."""
        if self.order is None:
            return self._solved(right)
        moved = np.empty_like(right)
        moved[self.order] = right
        return np.asarray(self._solved(moved)[self.order])

    def _solved(self, right: Array) -> Array:
        if self.compiled:
            loops().band_solve(self.room.shape[1] - 1, len(self.room), self.room, right)
            return right
        from scipy.linalg.lapack import dpbtrs

        return np.asarray(dpbtrs(self.room.T, right, lower=1, overwrite_b=1)[0])


def _numbered(pattern: Pattern, kept: Places) -> Places:
    """The places of numbers that stand in the room one after the other."""
    place = np.full(pattern.is_lower.size, -1)
    place[kept] = np.arange(len(kept))
    return place.reshape(pattern.is_lower.shape)


class CholeskyFactor:
    """The compiled sparse Cholesky: nested dissection, and dense fronts of columns alike."""

    def __init__(self, pattern: Pattern) -> None:
        self.ends, self.shape = pattern.ends, elimination(pattern)
        self.room: Array = np.zeros(self.shape.size)

    @property
    def work(self) -> float:
        """Multiplications of one factorisation, about."""
        return float(self.shape.work)

    def places(self, pattern: Pattern) -> Places:
        """(e, d d) of each number of the pattern in the room; -1 above the diagonal."""
        out = np.empty((len(pattern.row), pattern.channels**2), dtype=np.int64)
        self.shape.places(len(out), *self.ends, out)
        return out

    def factorise(self) -> None:
        """Factorises what stands in the room, in its place."""
        if not self.shape.factorise(self.room):
            raise SingularSystemError

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (N,), which is overwritten."""
        self.shape.solve(self.room, right)
        return right


class QdldlFactor:
    """qdldl: sparse LDL' in an order of minimum degree."""

    def __init__(self, pattern: Pattern) -> None:
        from scipy.sparse import csc_matrix

        with optional_imports():
            import qdldl

        self.module = qdldl
        self.solver: Any = None
        kept = np.flatnonzero(pattern.is_lower.ravel())
        row, column = pattern.wide_row.ravel()[kept], pattern.wide_column.ravel()[kept]
        order = np.lexsort((column, row))  # the upper triangle by columns
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=pattern.size))])
        arrays = (np.ones(len(order)), column[order].astype(np.int32), starts.astype(np.int32))
        self.matrix = csc_matrix(arrays, shape=(pattern.size,) * 2)
        self.room: Array = self.matrix.data
        self.kept = kept[order]

    def places(self, pattern: Pattern) -> Places:
        """(e, d d) of each number of the pattern in the room; -1 above the diagonal."""
        return _numbered(pattern, self.kept)

    def factorise(self) -> None:
        """Factorises what stands in the room."""
        try:
            if self.solver is None:
                self.solver = self.module.Solver(self.matrix, upper=True)
            else:
                self.solver.update(self.matrix, upper=True)
        except RuntimeError as error:
            raise SingularSystemError from error

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (n,)."""
        return np.asarray(self.solver.solve(right))


class LuFactor:
    """scipy's SuperLU in its symmetric mode."""

    def __init__(self, pattern: Pattern) -> None:
        self.factors: Any = None
        self.size = pattern.size
        kept = np.flatnonzero(pattern.is_lower.ravel())
        self.ends = (pattern.wide_row.ravel()[kept], pattern.wide_column.ravel()[kept])
        self.room: Array = np.zeros(len(kept))

    def places(self, pattern: Pattern) -> Places:
        """(e, d d) of each number of the pattern in the room; -1 above the diagonal."""
        return _numbered(pattern, np.flatnonzero(pattern.is_lower.ravel()))

    def factorise(self) -> None:
        """Factorises what stands in the room."""
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        lower = csc_array((self.room, self.ends), shape=(self.size,) * 2)
        full = csc_array(lower + lower.T - diags_array(lower.diagonal()))
        options = {"SymmetricMode": True}
        try:
            self.factors = splu(
                full, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
            )
        except RuntimeError as error:
            raise SingularSystemError from error

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (n,) or (n, d)."""
        return np.asarray(self.factors.solve(right))
