"""scad: smoothly clipped absolute deviation (Fan and Li 2001), as l21 up to lambda1."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import Line, Strength
from elasticgnn.problem.penalties.fading import FadingPenalty


@dataclass(frozen=True)
class SCAD(FadingPenalty):
    """lambda1 r up to r = lambda1, then a parabola, constant from a lambda1 on; r = |delta|."""

    name: ClassVar[str] = "scad"
    words: ClassVar[str] = "as l21 up to lambda1, levels off at concavity * lambda1 (Fan and Li)"
    default_concavity: ClassVar[float | None] = 3.7
    offset: ClassVar[float] = 1.0
    at_prediction: ClassVar[float | None] = 3.2

    def value(self, difference: Tensor, lambda1: Strength) -> Tensor:
        """rho of each row, a function of its length."""
        a, length = self.concavity, torch.linalg.vector_norm(difference, dim=-1)
        capped = length.clamp(max=a * lambda1)
        curved = (2 * a * lambda1 * capped - capped.square() - lambda1**2) / (2 * (a - 1))
        return torch.where(length <= lambda1, lambda1 * length, curved)

    def line(self, beta: Strength) -> Line:
        """How the lengths of dual rows outside the ball fall to zero."""
        a = self.concavity
        room = 1 / (a - 1 - 1 / beta)
        fall = -a * room * room / (beta * beta)
        return Line(a * room, room / beta, fall, fall * (a - 1) / a)

    def tangent(self, difference: Tensor, lambda1: float) -> Tensor:
        """The slope of rho at each length: (m, 1)."""
        a, length = self.concavity, torch.linalg.vector_norm(difference, dim=-1, keepdim=True)
        return ((a * lambda1 - length) / (a - 1)).clamp(0, lambda1)
