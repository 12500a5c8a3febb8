"""Shares in [0, 1] with a bounded sum."""

from torch import Tensor

BISECTIONS = 60


def project_to_budget(share: Tensor, budget: float) -> Tensor:
    """The nearest vector with entries in [0, 1] and sum at most `budget`.

    It is clamp(share - mu) for the mu >= 0 at which the sum meets the budget, found by bisection.
    """
    inside = share.clamp(0, 1)
    if float(inside.sum()) <= budget:
        return inside
    low, high = 0.0, float(share.max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float((share - middle).clamp(0, 1).sum()) > budget:
            low = middle
        else:
            high = middle
    return (share - high).clamp(0, 1)
