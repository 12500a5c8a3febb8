"""Shares in [0, 1] with a bounded sum."""

import torch
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


def within_node_budget(share: Tensor, pairs: Tensor, budget: Tensor) -> Tensor:
    """Shares (k,) of `pairs` (k, 2) scaled down until no node's sum is above its budget (n,).

    Each share is multiplied by the smaller of its ends' min(1, budget / sum), which is feasible
    but, unlike `project_to_budget`, not the nearest point.
    """
    total = torch.zeros_like(budget, dtype=share.dtype)
    for end in pairs.T:
        total = total.index_add(0, end, share)
    factor = (budget / total.clamp(min=1e-12)).clamp(max=1)
    return share * factor[pairs].amin(1)
