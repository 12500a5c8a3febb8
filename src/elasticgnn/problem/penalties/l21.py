"""l21: the Euclidean length of an edge's row, the paper's choice."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import ProjectedPenalty, Strength, active_rows, share_inside


@dataclass(frozen=True)
class L21(ProjectedPenalty):
    """lambda1 |delta|_2: whole rows become equal or jump together."""

    name: ClassVar[str] = "l21"
    words: ClassVar[str] = "Euclidean length of a difference: all its channels jump together"
    form: ClassVar[str | None] = "ball"

    def value(self, difference: Tensor, lambda1: Strength) -> Tensor:
        """lambda1 times the length of each row."""
        return lambda1 * torch.linalg.vector_norm(difference, dim=-1)

    def project(self, dual: Tensor, lambda1: Strength, beta: Strength) -> Tensor:
        """Rows onto the ball of radius lambda1."""
        active, length = active_rows(dual, lambda1)
        return dual * torch.where(active, lambda1 / length, share_inside(dual, lambda1))
