"""mcp: the minimax concave penalty (Zhang 2010), whose slope falls from the first difference on."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import Line, Strength
from elasticgnn.problem.penalties.fading import FadingPenalty


@dataclass(frozen=True)
class MCP(FadingPenalty):
    """lambda1 r - r^2 / (2 a) up to r = a lambda1, constant beyond; r = |delta|_2, a concavity."""

    name: ClassVar[str] = "mcp"
    words: ClassVar[str] = "as l21, but levels off at concavity * lambda1 (minimax concave)"
    default_concavity: ClassVar[float | None] = 3.0
    at_prediction: ClassVar[float | None] = 2.5

    def value(self, difference: Tensor, lambda1: Strength) -> Tensor:
        """rho of each row, a function of its length."""
        length = torch.linalg.vector_norm(difference, dim=-1)
        capped = length.clamp(max=self.concavity * lambda1)
        return lambda1 * capped - capped.square() / (2 * self.concavity)

    def line(self, beta: Strength) -> Line:
        """How the lengths of dual rows outside the ball fall to zero."""
        c = 1 / (self.concavity * beta)
        start = 1 / (1 - c)
        fall = -c / beta * start * start
        return Line(start, c * start, fall, fall)

    def tangent(self, difference: Tensor, lambda1: float) -> Tensor:
        """The slope of rho at each length: (m, 1)."""
        length = torch.linalg.vector_norm(difference, dim=-1, keepdim=True)
        return (lambda1 - length / self.concavity).clamp(min=0)
