"""The general compiled loops: what a call hands them, forward, backward, and the shapes of both.

Everything here is shapes and memory; the mathematics is in kernels/emp/problem.h.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.operator.checkpoints import Checkpoints, plan_checkpoints, plan_device_checkpoints
from elasticgnn.operator.kernel_call import (
    Problem,
    address,
    as_lanes,
    as_runs,
    hand_back,
    kernel,
    lanes_for,
    problem,
    run_groups,
    share_of,
)
from elasticgnn.operator.request import GRADIENTS
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalties.registry import penalty_by_name


class Arguments(NamedTuple):
    """The arguments of `propagate`, as operator/fused_op.py registers them."""

    x: Tensor
    weight: Tensor
    scale: Tensor
    start: Tensor
    column: Tensor
    edge: Tensor
    lambda1: Tensor
    gamma: Tensor
    beta: Tensor
    smoothing: Tensor
    norm: str
    concavity: float
    steps: int
    gradients: str
    memory: str
    use_dual: bool

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to compute."""
        return self.steps == 0 or self.x.numel() == 0

    @property
    def lean(self) -> bool:
        """Whether as little memory as possible is taken."""
        return self.memory == "lean"

    def checkpoints(self, gradients: str) -> Checkpoints:
        """What the adjoint will find, given edges per node and the bytes of many runs' state."""
        if not self.x.is_cpu:
            return plan_device_checkpoints(self.steps, gradients, self.lean)
        x, num_edges = self.x, self.weight.shape[0]
        state = (x.shape[0] + num_edges) * x.shape[1] * x.shape[2] * x.element_size()
        ratio, side_by_side = num_edges / x.shape[0], state if x.shape[1] > 1 else 0
        memory = (self.lean, self.use_dual, ratio, side_by_side)
        return plan_checkpoints(self.steps, gradients, *memory)

    def groups(self) -> Iterator[tuple[slice, Problem]]:
        """The runs in groups, each with its problem for the kernels."""
        tables = (self.start, self.column, self.edge, self.weight, self.scale)
        for group in run_groups(self.x):
            rows = self.x[:, group]
            sizes = tuple(s[group] for s in (self.lambda1, self.gamma, self.beta, self.smoothing))
            options = (penalty_by_name(self.norm, self.concavity), self.steps)
            yield group, problem(as_lanes(rows), rows, tables, sizes, options)


def forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """x after the steps, and the node rows and duals that the adjoint needs."""
    given = Arguments(*arguments)
    x = given.x
    if given.is_trivial:
        return x.clone(memory_format=torch.contiguous_format), x.new_empty(0), x.new_empty(0)
    plan = given.checkpoints(given.gradients)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(plan.num_nodes * x.shape[0] * row)
    duals = x.new_empty(plan.num_duals * given.weight.shape[0] * row)
    for group, task in given.groups():
        moved = lanes_for(out, group)
        states = (share_of(nodes, group, x).data_ptr(), share_of(duals, group, x).data_ptr())
        kernel("emp_forward", x.dtype)(
            *task.arguments,
            (0, 0, moved.data_ptr(), 0, *states),
            given.use_dual,
            GRADIENTS.index(given.gradients) if given.use_dual else 0,
            plan.every,
            plan.all_nodes,
        )
        hand_back(moved, out, group)
    return out, nodes, duals


def run_state(
    x: Tensor,
    tables: tuple[Tensor, ...],
    sizes: tuple[Tensor, ...],
    options: tuple[EdgePenalty, int],
    signal: Tensor | None,
    dual: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Signal (n, R, d) and dual (m, R, d) after the steps, from a given start or from (x, 0)."""
    runs, width = x.shape[1:]
    num_edges = tables[3].shape[0]
    if options[1] == 0 or x.numel() == 0:
        last = x.new_zeros(num_edges, runs, width) if dual is None else dual.clone()
        return (x if signal is None else signal).clone(), last
    rows = as_lanes(x)
    first = None if signal is None else as_lanes(signal)
    before = None if dual is None else as_lanes(dual)
    task = problem(rows, x, tables, sizes, options)
    out = torch.empty_like(rows)
    last = rows.new_empty(num_edges, *rows.shape[1:])
    kernel("emp_forward", x.dtype)(
        *task.arguments,
        (address(first), address(before), out.data_ptr(), last.data_ptr(), 0, 0),
        True,
        0,
        1,
        False,
    )
    return as_runs(out, x), as_runs(last, last.view(num_edges, runs, width))


def forward_shapes(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Tensors of the shapes that `forward` gives, on any device."""
    given = Arguments(*arguments)
    x = given.x
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if given.is_trivial:
        return out, x.new_empty(0), x.new_empty(0)
    plan = given.checkpoints(given.gradients)
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(plan.num_nodes * x.shape[0] * row)
    kind = torch.bfloat16 if given.memory == "half" and not x.is_cpu else x.dtype
    duals = x.new_empty(plan.num_duals * given.weight.shape[0] * row, dtype=kind)
    return out, nodes, duals


def gradient_shapes(given: Arguments, wanted: list[bool]) -> tuple[tuple[int, ...], ...]:
    """Shapes of the gradients of weight, scale and the four step sizes; unwanted ones are empty."""
    full = (tuple(given.weight.shape), tuple(given.scale.shape), (4, given.x.shape[1]))
    return tuple(shape if want else (0,) for shape, want in zip(full, wanted, strict=True))


def backward(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    """Gradients of x, weight, scale and the four step sizes; unwanted ones are empty."""
    given, wanted = Arguments(*rest[:-1]), rest[-1]
    x = given.x
    others = tuple(x.new_zeros(shape) for shape in gradient_shapes(given, wanted))
    if given.is_trivial:
        return (grad.clone(memory_format=torch.contiguous_format), *others)
    by_weight, by_scale, by_sizes = others
    is_saved = nodes.numel() > 0 or duals.numel() > 0
    plan = given.checkpoints(given.gradients if is_saved else "none")
    grad_x = torch.empty_like(x, memory_format=torch.contiguous_format)
    for group, task in given.groups():
        grad_rows = as_lanes(grad[:, group])
        out_rows = as_lanes(out[:, group]) if wanted[1] else None
        moved = lanes_for(grad_x, group)
        sizes = by_sizes.new_zeros(4, group.stop - group.start) if wanted[2] else by_sizes
        sums = (torch.zeros_like(by_weight), torch.zeros_like(by_scale), sizes)
        states = (address(share_of(saved, group, x)) for saved in (nodes, duals))
        kernel("emp_backward", x.dtype)(
            *task.arguments,
            (grad_rows.data_ptr(), address(out_rows), *states),
            (moved.data_ptr(), *map(address, sums)),
            *(given.use_dual, is_saved, plan.every, plan.all_nodes),
        )
        hand_back(moved, grad_x, group)
        by_weight += sums[0]
        by_scale += sums[1]
        if wanted[2]:
            by_sizes[:, group] = sizes
    return grad_x, by_weight, by_scale, by_sizes


def backward_shapes(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    """Tensors of the shapes that `backward` gives."""
    given, wanted = Arguments(*rest[:-1]), rest[-1]
    first = torch.empty_like(given.x, memory_format=torch.contiguous_format)
    return first, *(given.x.new_empty(shape) for shape in gradient_shapes(given, wanted))
