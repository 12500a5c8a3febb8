"""Shares in [0, 1] with a bounded sum."""

from collections.abc import Callable

import torch
from torch import Tensor

BISECTIONS = 40  # of an interval of shares: to 1e-12


def project_to_budget(
    share: Tensor, budget: float, limit: Callable[[Tensor], Tensor] = lambda inside: inside
) -> Tensor:
    """The nearest vector with entries in [0, 1] and sum at most `budget`.

    It is clamp(share - mu) for the mu >= 0 at which the sum meets the budget, found by bisection.
    `limit` lowers entries further; mu is then that at which the sum of what it leaves meets the
    budget, so that what one entry may not use the others get.
    """

    def moved(mu: float) -> Tensor:
        return limit((share - mu).clamp(0, 1))

    if float(moved(0.0).sum()) <= budget:
        return moved(0.0)
    low, high = 0.0, float(share.max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float(moved(middle).sum()) > budget:
            low = middle
        else:
            high = middle
    return moved(high)


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
