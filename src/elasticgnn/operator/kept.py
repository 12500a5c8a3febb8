"""The gradient of x through loops that keep what they like, as much as there is.

torch.library's operators promise the shapes of what they keep beforehand; these loops know them
only when they are done.
"""

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elasticgnn.operator.workspace import fresh


class TooMuch(Exception):
    """The loops would keep more than they may."""


class Kept:
    """A table of `pointers` to rows, `marks` bytes, and memory that the loops ask for on their way.

    With a `limit` (bytes in all) asking for more raises TooMuch.
    """

    def __init__(self, pointers: int, marks: int, limit: int | None = None) -> None:
        size = 8 * pointers + marks
        self.pieces = [fresh(size)]  # the table and the marks, then what the table points to
        first = self.pieces[0].data_ptr()
        self.addresses = (first, first + 8 * pointers)
        self.room = None if limit is None else limit - size

    def more(self, count: int) -> Tensor:
        if self.room is not None:
            self.room -= count
            if self.room < 0:
                raise TooMuch
        self.pieces.append(fresh(count))
        return self.pieces[-1]


class Route(Protocol):
    """A way through the compiled loops, in both directions; tensors are contiguous."""

    def forward(self, x: Tensor, out: Tensor) -> Any:
        """Fill `out`; returns what the gradient will need."""

    def backward(self, grad: Tensor, grad_x: Tensor, kept: Any) -> None:
        """Fill `grad_x`."""


def propagate_kept(x: Tensor, route: Route) -> Tensor:
    """x after the route's steps; differentiable in x, once."""
    apply: Any = _Propagate.apply  # torch gives it no types
    out: Tensor = apply(x, route)
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, route: Route) -> Tensor:
        rows = x.contiguous()
        out = torch.empty_like(rows)
        ctx.route, ctx.kept = route, route.forward(rows, out)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        # recorded only with create_graph=True; the guard would cost a small graph time
        return (_pull_back_once if torch.is_grad_enabled() else _pull_back)(ctx, grad)


def _pull_back(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    grad = grad.contiguous()
    grad_x = torch.empty_like(grad)
    ctx.route.backward(grad, grad_x, ctx.kept)
    return grad_x, None


_pull_back_once = once_differentiable(_pull_back)
