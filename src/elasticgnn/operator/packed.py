"""The packed route of the fused operator: short float32 rows, the l21 norm, gradients of x alone.

It keeps what a step's projection moved and nothing else, so how much memory the gradient takes is known
only at the end: torch.library's operators promise shapes beforehand, hence a route of its own.
"""

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.problem.step_sizes import StepSizes

_bytes = functools.partial(torch.empty, dtype=torch.uint8)


class _Call(NamedTuple):
    """The arguments that both directions share; `owners` keeps the memory alive."""

    sizes: tuple[int, int, int, int]
    tables: tuple[int, ...]
    settings: tuple[float, float, float, float]
    steps: int
    owners: tuple[Tensor, ...]

    def arguments(self) -> tuple[Any, ...]:
        return self.sizes, self.tables, self.settings, (self.steps, torch.get_num_threads())


def packed_lanes(x: Tensor, graph: Graph, norm: str, steps: int) -> int:
    """Floats that a padded row of x (n, R, d) takes, or 0: the loops do not fit this problem."""
    fits = x.dtype == torch.float32 and x.shape[1] == 1 and norm == "l21" and steps > 0
    if not fits or graph.num_edges == 0 or x.shape[2] == 0:
        return 0
    return int(native.packed_lanes(x.shape[2]))


def propagate_packed(
    x: Tensor, graph: Graph, sizes: StepSizes, steps: int, lanes: int, *, keep: bool
) -> Tensor:
    """Signal (n, 1, d) after `steps` steps; differentiable in x if `keep`."""
    slots = graph.slots.packed(16 // lanes)
    weight, scale = graph.cast(x.dtype)
    owners = (*slots, weight, scale)
    addresses = [table.data_ptr() for table in owners]
    if graph.is_unweighted:
        addresses[6] = 0
    shape = (x.shape[0], len(slots.owner), len(slots.chunk) - 1, x.shape[2])
    settings = (sizes.lambda1, sizes.gamma, sizes.beta, sizes.pull)
    numbers = tuple(float(size.detach()) for size in settings)
    call = _Call(shape, tuple(addresses), numbers, steps, owners)
    if keep:
        return _Propagate.apply(x, call)  # type: ignore[no-untyped-call]  # torch's
    return _forward(x, call, (0, 0), None)


def _forward(x: Tensor, call: _Call, kept: tuple[int, int], keep: Any) -> Tensor:
    rows = x.detach().contiguous()
    out = torch.empty_like(rows)
    addresses = (rows.data_ptr(), out.data_ptr())
    native.packed_forward(*call.arguments(), addresses, kept, _bytes, keep or _bytes)
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, call: _Call) -> Tensor:
        _, groups, chunks, _ = call.sizes
        table = torch.empty(call.steps, chunks, dtype=torch.int64)  # addresses in `pieces`
        masks = torch.empty(call.steps, groups // 4 + chunks, dtype=torch.int16)
        pieces: list[Tensor] = []

        def more(count: int) -> Tensor:
            pieces.append(_bytes(count))
            return pieces[-1]

        out = _forward(x, call, (table.data_ptr(), masks.data_ptr()), more)
        ctx.call, ctx.kept = call, (table, masks, pieces)
        return out

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]  # torch's
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        table, masks, _ = ctx.kept
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad)
        rows = (grad.data_ptr(), grad_x.data_ptr())
        kept = (table.data_ptr(), masks.data_ptr())
        native.packed_backward(*ctx.call.arguments(), rows, kept, _bytes)
        return grad_x, None
