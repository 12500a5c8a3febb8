"""How much memory a factorisation may take, and the error where one would take more.

A factor can be far larger than its matrix: that of a random graph with 10^5 nodes is nearly a full
matrix of tens of gigabytes. The compiled search for an elimination order gives up as soon as the
factor is sure to be too large; without it the profile of a narrow order is the bound.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from elasticgnn.kernels import native
from elasticgnn.solver.linear_algebra.pattern import Pattern, band_order
from elasticgnn.solver.problem.memory import ENTRY_BYTES, MOST_BYTES
from elasticgnn.solver.problem.mesh import loops

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NUMBER_BYTES = 8


class FactorTooLargeError(MemoryError):
    """A factorisation that would take more than MOST_BYTES; nothing was allocated for it."""

    def __str__(self) -> str:
        return f"the factors of its system would take more than {MOST_BYTES / 1e9:g} GB"


def most_numbers() -> float:
    """Numbers that a factor may hold."""
    return MOST_BYTES / NUMBER_BYTES


def check_product(operator: "csr_array") -> None:
    """Refuses K' G K before it is formed where rows of K with many entries make it nearly full."""
    entries = np.diff(operator.indptr).astype(np.float64)
    if float((entries * (entries + 1)).sum()) / 2 * ENTRY_BYTES > MOST_BYTES:
        raise FactorTooLargeError


def elimination(pattern: Pattern) -> Any:
    """The compiled factor's order and shape; FactorTooLargeError where it would not fit."""
    size = (pattern.nodes, pattern.channels, len(pattern.row))
    try:
        return loops().SparseFactor(*size, *pattern.ends, most_numbers())
    except ValueError as error:
        raise FactorTooLargeError from error


def check_pattern(pattern: Pattern) -> None:
    """Refuses a pattern whose factor would be too large, by whichever library it is made."""
    if native is not None:
        elimination(pattern)
        return
    position = band_order(pattern)
    first = position.copy()  # the first column of each row, in that order
    ends = position[pattern.row], position[pattern.column]
    np.minimum.at(first, np.argsort(position)[np.maximum(*ends)], np.minimum(*ends))
    if float((position - first + 1).sum()) * pattern.channels**2 > most_numbers():
        raise FactorTooLargeError


def check_matrix(matrix: "csr_array") -> None:
    """Refuses a symmetric positive definite matrix whose factor would be too large."""
    size = matrix.shape[0]
    if float(size) ** 2 <= most_numbers():  # even a full one fits
        return
    lower = matrix.tocoo()
    kept = lower.row >= lower.col
    order = np.lexsort((lower.row[kept], lower.col[kept]))
    check_pattern(Pattern(size, 1, lower.row[kept][order], lower.col[kept][order]))
