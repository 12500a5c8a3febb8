"""l1: the sum of the absolute entries of an edge's row."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import ProjectedPenalty, Strength, share_inside


@dataclass(frozen=True)
class L1(ProjectedPenalty):
    """lambda1 |delta|_1: every channel has its own pieces."""

    name: ClassVar[str] = "l1"
    words: ClassVar[str] = "sum of absolute entries: every channel jumps on its own"
    entrywise: ClassVar[bool] = True
    form: ClassVar[str | None] = "box"

    def value(self, difference: Tensor, lambda1: Strength) -> Tensor:
        """lambda1 times the sum of absolute entries of each row."""
        return lambda1 * difference.abs().sum(-1)

    def project(self, dual: Tensor, lambda1: Strength, beta: Strength) -> Tensor:
        """Entries onto [-lambda1, lambda1]."""
        radius = torch.as_tensor(lambda1, dtype=dual.dtype, device=dual.device)
        inside = dual * share_inside(dual, radius)
        return torch.where(dual.abs() > radius, radius * dual.sign(), inside)

    def dual_norm(self, dual: Tensor) -> Tensor:
        """The largest absolute entry of each row."""
        return torch.linalg.vector_norm(dual, ord=torch.inf, dim=-1)
