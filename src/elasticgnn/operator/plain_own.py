"""A penalty of the caller's own in the plain steps: its map as written, its adjoint by torch."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.once import all_numbers, may_need_gradient
from elasticgnn.operator.request import Request
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem.penalties.base import EdgePenalty


class OwnProjection(NamedTuple):
    """The map of dual rows that follows from a proximal map."""

    penalty: EdgePenalty
    lambda1: Tensor  # (R, 1) or (m, R, 1)
    beta: Tensor  # (R, 1)

    def __call__(self, rows: Tensor) -> Tensor:
        """The dual after the step."""
        return self.penalty.project(rows, self.lambda1, self.beta)

    def adjoint(self, rows: Tensor, everything: bool) -> "OwnAdjoint":
        """Its adjoint at the rows (K, m, R, d) of all steps."""
        return OwnAdjoint(self, rows, everything)


class OwnAdjoint:
    """J h by differentiating the map anew at each step, which saves none of what it computes."""

    def __init__(self, project: OwnProjection, rows: Tensor, everything: bool) -> None:
        self._penalty, self._rows = project.penalty, rows.unbind()
        self._sizes = tuple(
            size.detach().requires_grad_(everything) for size in (project.lambda1, project.beta)
        )
        self._totals = [torch.zeros_like(size) for size in self._sizes]
        self._everything = everything
        if everything:
            self._duals = torch.empty_like(rows)
            self._flows = rows.new_zeros(*rows.shape[:-1], 1)
            self._dual_of, self._flow_of = self._duals.unbind(), self._flows.unbind()

    def apply(self, step: int, cotangent: Tensor) -> None:
        """h (m, R, d) becomes J h, in place."""
        point = self._rows[step].detach().requires_grad_()
        with torch.enable_grad():
            dual = self._penalty.project(point, *self._sizes)
        if self._everything:
            self._dual_of[step].copy_(dual.detach())
        sources = (point, *self._sizes) if self._everything else (point,)
        by_point, *by_sizes = _gradients(dual, sources, cotangent)
        cotangent.copy_(by_point)
        for total, part in zip(self._totals, by_sizes, strict=False):
            total += part

    def flow(self, step: int, differences: Tensor) -> None:
        """Remembers <Z, differences> of each edge, with Z after the step, which was applied."""
        torch.sum(self._dual_of[step] * differences, -1, keepdim=True, out=self._flow_of[step])

    def flows(self) -> Tensor:
        """Those of all steps added up: (m, R)."""
        return self._flows.sum((0, -1))

    def duals(self, block: int) -> Iterator[Tensor]:
        """Z after every step, so many steps at a time; the caller may write into it."""
        yield from torch.split(self._duals, block)

    def by_lambda1(self) -> Tensor:
        """The gradient of lambda1: (R,), or (m, R) where each edge has its own."""
        return self._totals[0][..., 0]

    def by_beta(self) -> Tensor:
        """The gradient of beta in the map itself: (R,)."""
        return self._totals[1][..., 0]


def _gradients(out: Tensor, sources: tuple[Tensor, ...], cotangent: Tensor) -> list[Tensor]:
    """Of <cotangent, out> in each source; a map may leave its arguments aside."""
    found: tuple[Tensor | None, ...] = (None,) * len(sources)
    if out.requires_grad:
        found = torch.autograd.grad(out, sources, cotangent, allow_unused=True)
    pairs = zip(found, sources, strict=True)
    return [torch.zeros_like(source) if part is None else part for part, source in pairs]


def has_tensors_of_its_own(request: Request) -> bool:
    """Whether the penalty is differentiable in something that it holds, not in what it is given."""
    if not torch.is_grad_enabled():
        return False
    x, sizes = all_numbers(with_runs(request.x)), request.sizes
    rows = x.new_zeros(request.graph.num_edges, *x.shape[1:])
    lambda1, beta = (all_numbers(size)[..., None] for size in (sizes.lambda1, sizes.beta))
    return may_need_gradient(request.edge_penalty.project(rows, lambda1, beta))
