"""The packed route of the fused operator: short float32 rows, l21 or l1, gradients of x alone.

It keeps what a step's projection moved and nothing else, so how much memory the gradient takes is
known only at the end: torch.library's operators promise shapes beforehand, hence this route.
"""

import functools
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.problem.step_sizes import StepSizes

MOST_FLOATS = 1 << 31  # of padded node rows: the tables hold where each begins
loops: Any = native  # not None where this module's functions are called
_bytes = functools.partial(torch.empty, dtype=torch.uint8)


class _Call(NamedTuple):
    """The arguments that both directions share; `owners` keeps the memory alive."""

    sizes: tuple[int, ...]  # of the graph, and of a row
    tables: list[int]
    settings: list[tuple[float, ...]]  # lambda1, gamma, beta, pull of each run
    steps: int
    norm: str
    owners: tuple[Tensor, ...]

    def arguments(self, run: int) -> tuple[Any, ...]:
        options = (self.steps, torch.get_num_threads(), self.norm == "l1")
        return self.sizes, self.tables, self.settings[run], options

    def rows(self, run: int, *tensors: Tensor) -> tuple[int, ...]:
        """Where the rows of a run begin in tensors (n, d) or (n, R, d)."""
        return tuple(tensor.data_ptr() + 4 * run * tensor.shape[-1] for tensor in tensors)


def packed_lanes(x: Tensor, graph: Graph, norm: str, steps: int) -> int:
    """Floats that a padded row of x takes, or 0: the loops do not fit this problem."""
    fits = x.dtype == torch.float32 and norm in ("l21", "l1") and steps > 0 and x.numel() > 0
    lanes = int(loops.packed_lanes(x.shape[-1])) if fits and graph.num_edges else 0
    return lanes if len(x) * lanes < MOST_FLOATS else 0


def propagate_packed(
    x: Tensor, graph: Graph, sizes: StepSizes, norm: str, steps: int, lanes: int, *, keep: bool
) -> Tensor:
    """x (n, d) or (n, R, d) after `steps` steps; differentiable in x if `keep`."""
    slots = graph.slots.packed(16 // lanes)
    weight, scale = graph.cast(x.dtype)
    owners = (*slots, weight, scale)
    addresses = [table.data_ptr() for table in owners]
    if graph.is_unweighted:
        addresses[7] = 0
    width = x.shape[-1]
    shape = (len(x), len(slots.owner), len(slots.chunk) - 1, width, x[0].numel())
    settings = list(zip(*(size.tolist() for size in sizes), strict=True))
    call = _Call(shape, addresses, settings, steps, norm, owners)
    if keep:
        return _Propagate.apply(x, call)  # type: ignore[no-untyped-call]  # torch's
    rows = x.detach().contiguous()
    out = torch.empty_like(rows)
    for run in range(len(settings)):
        arguments = (*call.arguments(run), call.rows(run, rows, out))
        loops.packed_forward(*arguments, (0, 0), _bytes, _bytes)
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, call: _Call) -> Tensor:
        _, groups, chunks, *_ = call.sizes
        each = 4 if call.norm == "l1" else 1  # masks of four registers
        rows = x.detach().contiguous()
        out = torch.empty_like(rows)
        ctx.call, ctx.kept = call, []
        for run in range(len(call.settings)):
            kept = [
                torch.empty(call.steps, chunks, dtype=torch.int64),  # addresses in what follows
                torch.empty(call.steps, (groups // 4 + chunks) * each, dtype=torch.int16),
            ]

            def more(count: int, kept: list[Tensor] = kept) -> Tensor:
                kept.append(_bytes(count))
                return kept[-1]

            arguments = (*call.arguments(run), call.rows(run, rows, out))
            addresses = (kept[0].data_ptr(), kept[1].data_ptr())
            loops.packed_forward(*arguments, addresses, _bytes, more)
            ctx.kept.append(kept)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad)
        for run, (table, masks, *_) in enumerate(ctx.kept):
            arguments = (*ctx.call.arguments(run), ctx.call.rows(run, grad, grad_x))
            loops.packed_backward(*arguments, (table.data_ptr(), masks.data_ptr()), _bytes)
        return grad_x, None
