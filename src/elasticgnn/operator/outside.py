"""The fast gradient of x for wide rows: each projection keeps the rows that it moved, no states.

The rows of short float32 signals take operator/packed.py instead.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.operator.kept import Kept, propagate_kept
from elasticgnn.operator.kernel_call import NORMS, kernel
from elasticgnn.operator.workspace import workspace
from elasticgnn.problem.step_sizes import StepSizes

loops: Any = native  # not None where this module's functions are called


def fits(x: Tensor, norm: str, steps: int) -> bool:
    """Whether the route serves x (n, d) or (n, R, d): one run, the l21 norm, and work to do."""
    return norm == "l21" and steps > 0 and x.numel() == len(x) * x.shape[-1] > 0


def propagate_outside(
    x: Tensor, graph: Graph, sizes: StepSizes, steps: int, limit: int | None = None
) -> Tensor:
    """x after the steps; differentiable in x. TooMuch is raised beyond `limit` kept bytes."""
    slots = graph.slots
    weight, scale = graph.cast(x.dtype)
    tables = (slots.start, slots.column, slots.edge, weight, scale)
    shape = (len(x), graph.num_edges, 1, x.shape[-1])
    addresses = [tuple(tensor.data_ptr() for tensor in group) for group in (tables, sizes)]
    route = _Outside(shape, addresses[0], addresses[1], steps, (*tables, *sizes), limit)
    return propagate_kept(x, route)


class _Outside(NamedTuple):
    """The arguments that both directions share; `owners` keeps the memory alive."""

    shape: tuple[int, ...]
    tables: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: int
    owners: tuple[Tensor, ...]
    limit: int | None

    def arguments(self) -> tuple[Any, ...]:
        options = (NORMS.index("l21"), self.steps, torch.get_num_threads())
        return self.shape, self.tables, self.sizes, options

    def forward(self, x: Tensor, out: Tensor) -> Kept:
        # where the rows of each block begin, and which edges moved
        kept = Kept(self.steps * loops.emp_blocks, self.steps * self.shape[1], self.limit)
        rows = (x.data_ptr(), out.data_ptr())
        call = kernel("emp_forward_outside", x.dtype)
        call(*self.arguments(), *rows, kept.addresses, workspace, kept.more)
        return kept

    def backward(self, grad: Tensor, grad_x: Tensor, kept: Kept) -> None:
        rows = (grad.data_ptr(), grad_x.data_ptr())
        call = kernel("emp_backward_outside", grad.dtype)
        call(*self.arguments(), *rows, kept.addresses, workspace)
