"""Symmetric positive definite systems of one pattern, factorised again and again.

LAPACK's banded Cholesky where the band is narrow (chains), else qdldl where it is installed (extra
"solver"), else scipy's SuperLU. A solver is built for a pattern of the lower triangle.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from elasticgnn.extras import optional_imports
from elasticgnn.solver.geometry import Array

WIDEST_BAND = 48
Index = NDArray[np.intp]


class SingularSystemError(ArithmeticError):
    """The matrix is not positive definite to rounding."""


class Factor(Protocol):
    """Solves A y = b once A is factorised."""

    def factorise(self, values: Array) -> None:
        """Take the lower triangle's values, in the order of the pattern."""

    def solve(self, right: Array) -> Array:
        """y (N,)."""


@dataclass(frozen=True)
class Pattern:
    """The places of a lower triangle: row >= column, sorted by column, then row."""

    size: int
    row: Index
    column: Index


def build_factor(pattern: Pattern) -> Factor:
    """The solver that suits the pattern."""
    order = _band_order(pattern)
    if order is not None:
        return BandFactor(pattern, order)
    try:
        return QdldlFactor(pattern)
    except ImportError:
        return LuFactor(pattern)


def _bandwidth(pattern: Pattern, place: Index) -> int:
    return int(np.abs(place[pattern.row] - place[pattern.column]).max(initial=0))


def _band_order(pattern: Pattern) -> Index | None:
    """The place of each unknown in an order with a narrow band, if there is one."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    natural = np.arange(pattern.size)
    if _bandwidth(pattern, natural) <= WIDEST_BAND:
        return natural
    ones = np.ones(len(pattern.row), dtype=np.int8)
    lower = csr_array((ones, (pattern.row, pattern.column)), shape=(pattern.size,) * 2)
    order = reverse_cuthill_mckee(csr_array(lower + lower.T), symmetric_mode=True)
    place = np.empty(pattern.size, dtype=np.intp)
    place[order] = natural
    return place if _bandwidth(pattern, place) <= WIDEST_BAND else None


class BandFactor:
    """LAPACK's pbtrf and pbtrs."""

    def __init__(self, pattern: Pattern, place: Index) -> None:
        self.place = None if np.array_equal(place, np.arange(pattern.size)) else place
        row, column = place[pattern.row], place[pattern.column]
        row, column = np.maximum(row, column), np.minimum(row, column)
        self.shape = (pattern.size, int((row - column).max(initial=0)) + 1)
        self.target = column * self.shape[1] + (row - column)
        self.band: Array = np.zeros(self.shape)

    def factorise(self, values: Array) -> None:
        """Factorises the matrix with these values; SingularSystemError where it is singular."""
        from scipy.linalg.lapack import dpbtrf

        room = np.zeros(self.shape)
        room.ravel()[self.target] = values
        self.band, info = dpbtrf(room.T, lower=1, overwrite_ab=1)
        if info != 0:
            raise SingularSystemError

    def solve(self, right: Array) -> Array:
        """The solution for a right-hand side (n,) or (n, d)."""
        from scipy.linalg.lapack import dpbtrs

        if self.place is None:
            return np.asarray(dpbtrs(self.band, right, lower=1)[0])
        moved = np.empty_like(right)
        moved[self.place] = right
        return np.asarray(dpbtrs(self.band, moved, lower=1, overwrite_b=1)[0][self.place])


def _upper(pattern: Pattern) -> tuple[Index, Any]:
    """Where each value of the lower triangle goes in the upper one (CSC), and that matrix."""
    from scipy.sparse import csc_matrix

    order = np.lexsort((pattern.column, pattern.row))
    starts = np.concatenate([[0], np.cumsum(np.bincount(pattern.row, minlength=pattern.size))])
    arrays = (np.ones(len(order)), pattern.column[order].astype(np.int32), starts.astype(np.int32))
    return order, csc_matrix(arrays, shape=(pattern.size,) * 2)


class QdldlFactor:
    """qdldl: sparse LDL' in an order of minimum degree."""

    def __init__(self, pattern: Pattern) -> None:
        with optional_imports():
            import qdldl

        self.module = qdldl
        self.solver: Any = None
        self.order, self.matrix = _upper(pattern)

    def factorise(self, values: Array) -> None:
        """Factorises the matrix with these values; SingularSystemError where it is singular."""
        self.matrix.data[:] = values[self.order]
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
        self.pattern = pattern
        self.factors: Any = None

    def factorise(self, values: Array) -> None:
        """Factorises the matrix with these values; SingularSystemError where it is singular."""
        from scipy.sparse import csc_array, diags_array
        from scipy.sparse.linalg import splu

        pattern = self.pattern
        places = (pattern.row, pattern.column)
        lower = csc_array((values, places), shape=(pattern.size,) * 2)
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
