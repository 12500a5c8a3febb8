"""The map of dual rows in plain torch with few operations, and its adjoint.

The Jacobian of a row a of length r that becomes l(r) a / r is
J h = factor h + cross a <a, h> with factor = l / r and cross = (l' - factor) / r^2;
that of entries onto a box is 1 inside and 0 outside.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from elasticgnn.problem.penalties.base import EdgePenalty, Line


class Projection(NamedTuple):
    """Rows (m, R, d) onto balls or boxes, or to lengths along a falling line."""

    form: str
    line: Line
    lambda1: Tensor  # (R, 1) or (m, R, 1), as all below
    least: Tensor  # lambda1, but > 0
    top: Tensor  # of the line
    zero: Tensor
    fall: Tensor  # its slope
    opposite: Tensor  # -lambda1

    def __call__(self, rows: Tensor) -> Tensor:
        """The dual after the step."""
        if self.form == "box":
            return rows.clamp(self.opposite, self.lambda1)
        return rows * self.factor(torch.linalg.vector_norm(rows, dim=-1, keepdim=True))

    def factor(self, length: Tensor) -> Tensor:
        """What rows of that length are multiplied by: 1 for short ones."""
        if self.form == "ball":
            return self.lambda1 / length.clamp(min=self.least)
        longest = torch.addcmul(self.top, self.fall, length).clamp_(self.zero, self.lambda1)
        return longest.div_(length.clamp(min=self.least))

    def of_lambda1(self, inner: Tensor) -> Tensor:
        """What all steps (K, m, R, 1) add to the gradient of lambda1, in its shape."""
        return inner.sum((0, -1)) if self.lambda1.ndim == 3 else inner.sum((0, 1, -1))

    def adjoint(self, rows: Tensor, everything: bool) -> "Adjoint":
        """Its adjoint at the rows (K, m, R, d) of all steps."""
        return (_Entries if self.form == "box" else _Lengths)(self, rows)


def make_projection(edge_penalty: EdgePenalty, lambda1: Tensor, beta: Tensor) -> Projection:
    """The projection of a built-in penalty; beta is (R, 1)."""
    line = edge_penalty.line(beta)
    zero = torch.zeros_like(lambda1)
    least = lambda1.clamp(min=torch.finfo(lambda1.dtype).tiny)
    top, fall = zero + line.start * lambda1, zero - line.slope
    return Projection(str(edge_penalty.form), line, lambda1, least, top, zero, fall, -lambda1)


class DualMap(Protocol):
    """What the steps ask of a projection."""

    def __call__(self, rows: Tensor) -> Tensor:
        """The dual after the step."""

    def adjoint(self, rows: Tensor, everything: bool) -> "Adjoint":
        """Its adjoint at the rows (K, m, R, d) of all steps; of x alone unless `everything`."""


class Adjoint(Protocol):
    """J h of each step, and afterwards what the strengths get."""

    def apply(self, step: int, cotangent: Tensor) -> None:
        """h (m, R, d) becomes J h, in place."""

    def flow(self, step: int, differences: Tensor) -> None:
        """Remembers <Z, differences> of each edge, with Z after the step, which was applied."""

    def flows(self) -> Tensor:
        """Those of all steps added up: (m, R)."""

    def duals(self, block: int) -> Iterator[Tensor]:
        """Z after every step, so many steps at a time; the caller may write into it."""

    def by_lambda1(self) -> Tensor:
        """The gradient of lambda1: (R,), or (m, R) where each edge has its own."""

    def by_beta(self) -> Tensor:
        """The gradient of beta in the map itself: (R,)."""


class _Lengths:
    """The adjoint where rows keep their direction."""

    def __init__(self, project: Projection, rows: Tensor) -> None:
        line, lambda1 = project.line, project.lambda1
        length = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        inverse = (length > lambda1) / length.clamp(min=project.least)
        falling = torch.addcmul(project.top, project.fall, length)
        falls = (falling > 0) & (falling < lambda1)
        self._project, self._all_rows = project, rows
        self._factors = project.factor(length)
        slope = torch.where(falls, project.fall, project.zero)
        cross = (slope - self._factors) * inverse * inverse
        self._slope_lambda1 = torch.where(falls, line.start, falling >= lambda1) * inverse
        slide = line.start_beta * lambda1 - line.slope_beta * length
        self._slope_beta = torch.where(falls, slide * inverse, 0)
        tables = (rows, self._factors, cross)
        self._rows, self._factor, self._cross = (table.unbind() for table in tables)
        self._inner, self._flows = torch.empty_like(length), torch.zeros_like(length)
        self._inner_of, self._flow_of = self._inner.unbind(), self._flows.unbind()

    def apply(self, step: int, cotangent: Tensor) -> None:
        rows = self._rows[step]
        inner = torch.sum(rows * cotangent, -1, keepdim=True, out=self._inner_of[step])
        cotangent.mul_(self._factor[step]).addcmul_(rows, inner * self._cross[step])

    def flow(self, step: int, differences: Tensor) -> None:
        torch.sum(self._rows[step] * differences, -1, keepdim=True, out=self._flow_of[step])

    def flows(self) -> Tensor:
        return (self._flows * self._factors).sum((0, -1))

    def duals(self, block: int) -> Iterator[Tensor]:
        for rows, factors in zip(
            torch.split(self._all_rows, block), torch.split(self._factors, block), strict=True
        ):
            yield rows * factors

    def by_lambda1(self) -> Tensor:
        return self._project.of_lambda1(self._inner * self._slope_lambda1)

    def by_beta(self) -> Tensor:
        return (self._inner * self._slope_beta).sum((0, 1, -1))


class _Entries:
    """The adjoint of a projection onto boxes."""

    def __init__(self, project: Projection, rows: Tensor) -> None:
        self._project, self._all_rows, self._rows = project, rows, rows.unbind()
        self._outward = (rows - project(rows)).sign_().unbind()  # 0 inside
        self._inside = (project.lambda1 > 0).to(rows.dtype)  # a box of one point has no inside
        sums = rows.new_zeros(2, *rows.shape[:-1], 1)
        self._inner, self._flows = sums.unbind()
        self._inner_of, self._flow_of = self._inner.unbind(), self._flows.unbind()

    def apply(self, step: int, cotangent: Tensor) -> None:
        outward = self._outward[step]
        beyond = outward * cotangent
        torch.sum(beyond, -1, keepdim=True, out=self._inner_of[step])
        cotangent.addcmul_(outward, beyond, value=-1).mul_(self._inside)

    def flow(self, step: int, differences: Tensor) -> None:
        dual = self._project(self._rows[step])
        torch.sum(dual.mul_(differences), -1, keepdim=True, out=self._flow_of[step])

    def flows(self) -> Tensor:
        return self._flows.sum((0, -1))

    def duals(self, block: int) -> Iterator[Tensor]:
        for rows in torch.split(self._all_rows, block):
            yield self._project(rows)

    def by_lambda1(self) -> Tensor:
        return self._project.of_lambda1(self._inner)

    def by_beta(self) -> Tensor:
        return self._inner.new_zeros(self._inner.shape[2])
