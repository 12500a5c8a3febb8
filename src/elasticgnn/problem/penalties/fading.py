"""What concave penalties of the length share: the dual of a long difference fades to zero."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import (
    EdgePenalty,
    Line,
    ProjectedPenalty,
    Strength,
    active_rows,
    share_inside,
)
from elasticgnn.problem.penalties.l21 import L21


@dataclass(frozen=True)
class FadingPenalty(ProjectedPenalty):
    """lambda1 |delta|_2 for short rows, constant from |delta|_2 = concavity * lambda1 on."""

    concavity: float

    form: ClassVar[str | None] = "fading"
    offset: ClassVar[float] = 0.0  # concavity - offset is the inverse of the curvature

    @abstractmethod
    def line(self, beta: Strength) -> Line:
        """How the lengths of dual rows outside the ball fall to zero."""

    def project(self, dual: Tensor, lambda1: Strength, beta: Strength) -> Tensor:
        """Rows inside the ball of lambda1 stay, longer ones follow `line` (firm thresholding)."""
        start, slope, *_ = self.line(beta)
        active, length = active_rows(dual, lambda1)
        fading = (start * lambda1 - slope * length).clamp(min=0)
        shorter = torch.where(fading > lambda1, lambda1, fading)
        return dual * torch.where(active, shorter / length, share_inside(dual, lambda1))

    @property
    def curvature(self) -> float:
        """1 / (concavity - offset): how fast the slope falls."""
        return 1 / (self.concavity - self.offset) if self.concavity > self.offset else torch.inf

    def refusal(self, beta: float) -> str | None:
        """Which concavity would suit the dual step `beta`, if the present one does not."""
        if beta > self.curvature:
            return None
        rule = "1/beta" + (f" + {self.offset:g}" if self.offset else "")
        return (
            f"concavity must be > {1 / beta + self.offset:.6g} ({rule}) "
            f"for norm {self.name!r}, got {self.concavity}"
        )

    @property
    def majoriser(self) -> EdgePenalty:
        """The convex penalty whose slope at 0 it has."""
        return L21()

    @abstractmethod
    def tangent(self, difference: Tensor, lambda1: float) -> Tensor:
        """The slope of rho at each length: (m, 1)."""
