"""Consecutive nodes in parts of equal work."""

import numpy as np


def equal_shares(work: np.ndarray, count: int) -> np.ndarray:
    """The part 0 .. count - 1 of each node; nodes without work behind the last may get `count`."""
    before = np.cumsum(work) - work
    return before * count // max(1, int(work.sum()))
