"""The fast gradient of x for wide rows: each projection keeps the rows that it moved, no states.

How many there are is known only at the end: torch.library's operators promise shapes beforehand,
hence this route. The rows of short float32 signals take operator/packed.py instead.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.operator.kernel_call import NORMS, kernel, scratch
from elasticgnn.problem.step_sizes import StepSizes

loops: Any = native  # not None where this module's functions are called


class _Call(NamedTuple):
    """The arguments that both directions share; `owners` keeps the memory alive."""

    shape: tuple[int, ...]
    tables: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: int
    owners: tuple[Tensor, ...]

    def arguments(self) -> tuple[Any, ...]:
        options = (NORMS.index("l21"), self.steps, torch.get_num_threads())
        return self.shape, self.tables, self.sizes, options


def fits(x: Tensor, norm: str, steps: int) -> bool:
    """Whether the route serves x (n, d) or (n, R, d): one run, the l21 norm, and work to do."""
    return norm == "l21" and steps > 0 and x.numel() == len(x) * x.shape[-1] > 0


def propagate_outside(x: Tensor, graph: Graph, sizes: StepSizes, steps: int) -> Tensor:
    """x after `steps` steps with a dual; differentiable in x."""
    slots = graph.slots
    weight, scale = graph.cast(x.dtype)
    tables = (slots.start, slots.column, slots.edge, weight, scale)
    shape = (len(x), graph.num_edges, 1, x.shape[-1])
    addresses = [tuple(tensor.data_ptr() for tensor in group) for group in (tables, sizes)]
    call = _Call(shape, addresses[0], addresses[1], steps, (*tables, *sizes))
    return _Propagate.apply(x, call)  # type: ignore[no-untyped-call]  # torch's


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, call: _Call) -> Tensor:
        rows = x.detach().contiguous()
        out = torch.empty_like(rows)
        table = torch.empty(call.steps, loops.emp_blocks, dtype=torch.int64)
        moved = torch.empty(call.steps, call.shape[1], dtype=torch.uint8)
        kept = [table, moved]  # what the table points to follows

        def keep(count: int) -> Tensor:
            kept.append(scratch(count))
            return kept[-1]

        kernel("emp_forward_outside", x.dtype)(
            *call.arguments(),
            rows.data_ptr(),
            out.data_ptr(),
            (table.data_ptr(), moved.data_ptr()),
            scratch,
            keep,
        )
        ctx.call, ctx.kept = call, kept
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        grad = grad.contiguous()
        grad_x = torch.empty_like(grad)
        table, moved, *_ = ctx.kept
        kernel("emp_backward_outside", grad.dtype)(
            *ctx.call.arguments(),
            grad.data_ptr(),
            grad_x.data_ptr(),
            (table.data_ptr(), moved.data_ptr()),
            scratch,
        )
        return grad_x, None
