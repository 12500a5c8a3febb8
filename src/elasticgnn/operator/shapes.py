"""Rows of one run or of many: the implementations see (n, R, d)."""

from torch import Tensor


def with_runs(x: Tensor) -> Tensor:
    """x (n, d) or (n, R, d) as (n, R, d)."""
    return x if x.ndim == 3 else x[:, None]
