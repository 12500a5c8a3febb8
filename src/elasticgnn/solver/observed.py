"""Signals with missing values, as the solver is asked about them."""

from torch import Tensor


def observed(x: Tensor) -> tuple[Tensor, Tensor]:
    """x with 0 where it is NaN, and data weights of 0 there and 1 elsewhere; shaped like x."""
    return x.nan_to_num(0.0), (~x.isnan()).double()
