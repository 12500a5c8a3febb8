"""The torch.library operators `elasticgnn::propagate` and its adjoint, on the compiled loops.

Everything here is shapes, memory and registration; the mathematics is in kernels/emp.h.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.once import is_traced
from elasticgnn.operator.keeping import Keeping, plan_keeping
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
from elasticgnn.operator.workspace import workspace

_ARGUMENTS = (
    "Tensor x, Tensor weight, Tensor scale, Tensor start, Tensor column, Tensor edge, "
    "Tensor lambda1, Tensor gamma, Tensor beta, Tensor pull, "
    "str norm, float concavity, int steps, int keep, bool lean, bool use_dual"
)
torch.library.define("elasticgnn::propagate", f"({_ARGUMENTS}) -> (Tensor, Tensor, Tensor)")
torch.library.define(
    "elasticgnn::propagate_backward",
    f"(Tensor grad, Tensor out, Tensor nodes, Tensor duals, {_ARGUMENTS}, bool[] wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)


class _Inputs(NamedTuple):
    """The arguments of `propagate`, as `_ARGUMENTS` names them."""

    x: Tensor
    weight: Tensor
    scale: Tensor
    start: Tensor
    column: Tensor
    edge: Tensor
    lambda1: Tensor
    gamma: Tensor
    beta: Tensor
    pull: Tensor
    norm: str
    concavity: float
    steps: int
    keep: int
    lean: bool
    use_dual: bool

    @property
    def is_trivial(self) -> bool:
        return self.steps == 0 or self.x.numel() == 0

    def keeping(self, keep: int) -> Keeping:
        """What is kept for the gradient, given edges per node and the bytes of many runs' state."""
        x, num_edges = self.x, self.weight.shape[0]
        state = (x.shape[0] + num_edges) * x.shape[1] * x.shape[2] * x.element_size()
        ratio, side_by_side = num_edges / x.shape[0], state if x.shape[1] > 1 else 0
        return plan_keeping(self.steps, keep, self.lean, self.use_dual, ratio, side_by_side)

    def groups(self) -> Iterator[tuple[slice, Problem]]:
        """The runs in groups, each with its problem for the kernels."""
        tables = (self.start, self.column, self.edge, self.weight, self.scale)
        for group in run_groups(self.x):
            rows = self.x[:, group]
            sizes = tuple(s[group] for s in (self.lambda1, self.gamma, self.beta, self.pull))
            options = (self.norm, self.concavity, self.steps)
            yield group, problem(as_lanes(rows), rows, tables, sizes, options)


def _propagate(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    given = _Inputs(*arguments)
    x = given.x
    if given.is_trivial:
        return x.clone(memory_format=torch.contiguous_format), x.new_empty(0), x.new_empty(0)
    keeping = given.keeping(given.keep)
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(keeping.num_nodes_kept * x.shape[0] * row)
    duals = x.new_empty(keeping.num_duals_kept * given.weight.shape[0] * row)
    for group, task in given.groups():
        moved = lanes_for(out, group)
        kept = (share_of(nodes, group, x).data_ptr(), share_of(duals, group, x).data_ptr())
        kernel("emp_forward", x.dtype)(
            *task.arguments,
            (0, 0, moved.data_ptr(), 0, *kept),
            given.use_dual,
            given.keep if given.use_dual else 0,
            keeping.every,
            keeping.all_nodes,
            workspace,
        )
        hand_back(moved, out, group)
    return out, nodes, duals


torch.library.impl("elasticgnn::propagate", "CPU", _propagate)


def run_state(
    x: Tensor,
    tables: tuple[Tensor, ...],
    sizes: tuple[Tensor, ...],
    options: tuple[str, float, int],
    signal: Tensor | None,
    dual: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Signal (n, R, d) and dual (m, R, d) after the steps, from a given start or from (x, 0)."""
    runs, width = x.shape[1:]
    num_edges = tables[3].shape[0]
    if options[2] == 0 or x.numel() == 0:
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
        workspace,
    )
    return as_runs(out, x), as_runs(last, last.view(num_edges, runs, width))


def _propagate_shapes(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    given = _Inputs(*arguments)
    x = given.x
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if given.is_trivial:
        return out, x.new_empty(0), x.new_empty(0)
    keeping = given.keeping(given.keep)
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(keeping.num_nodes_kept * x.shape[0] * row)
    return out, nodes, x.new_empty(keeping.num_duals_kept * given.weight.shape[0] * row)


torch.library.register_fake("elasticgnn::propagate", _propagate_shapes)


def _propagate_backward(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    *arguments, wanted = rest
    given = _Inputs(*arguments)
    x = given.x
    shapes = _gradient_shapes(given, wanted)
    if given.is_trivial:
        others = tuple(x.new_zeros(shape) for shape in shapes)
        return (grad.clone(memory_format=torch.contiguous_format), *others)
    kept = nodes.numel() > 0 or duals.numel() > 0
    keeping = given.keeping(given.keep if kept else 0)
    grad_x = torch.empty_like(x, memory_format=torch.contiguous_format)
    by_weight, by_scale, by_sizes = (x.new_zeros(shape) for shape in shapes)
    for group, task in given.groups():
        grad_rows = as_lanes(grad[:, group])
        out_rows = as_lanes(out[:, group]) if wanted[1] else None
        moved = lanes_for(grad_x, group)
        sums = [torch.zeros_like(by_weight), torch.zeros_like(by_scale)]
        sums.append(by_sizes.new_zeros(4, group.stop - group.start) if wanted[2] else by_sizes)
        states = (share_of(nodes, group, x), share_of(duals, group, x))
        kernel("emp_backward", x.dtype)(
            *task.arguments,
            (grad_rows.data_ptr(), address(out_rows), *map(address, states)),
            (moved.data_ptr(), *map(address, sums)),
            given.use_dual,
            kept,
            keeping.every,
            keeping.all_nodes,
            workspace,
        )
        hand_back(moved, grad_x, group)
        by_weight += sums[0]
        by_scale += sums[1]
        if wanted[2]:
            by_sizes[:, group] = sums[2]
    return grad_x, by_weight, by_scale, by_sizes


torch.library.impl("elasticgnn::propagate_backward", "CPU", _propagate_backward)


def _gradient_shapes(given: _Inputs, wanted: list[bool]) -> tuple[tuple[int, ...], ...]:
    """Shapes of the gradients of weight, scale and the four step sizes; unwanted ones are empty."""
    full = (tuple(given.weight.shape), tuple(given.scale.shape), (4, given.x.shape[1]))
    return tuple(shape if want else (0,) for shape, want in zip(full, wanted, strict=True))


def _propagate_backward_shapes(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    *arguments, wanted = rest
    given = _Inputs(*arguments)
    first = torch.empty_like(given.x, memory_format=torch.contiguous_format)
    return first, *(given.x.new_empty(shape) for shape in _gradient_shapes(given, wanted))


torch.library.register_fake("elasticgnn::propagate_backward", _propagate_backward_shapes)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    out, nodes, duals = output
    ctx.mark_non_differentiable(nodes, duals)
    ctx.set_materialize_grads(False)
    needs_scale = ctx.needs_input_grad[2]
    ctx.save_for_backward(*inputs[:10], out if needs_scale else None, nodes, duals)
    ctx.options = inputs[10:]


def _differentiate(ctx: Any, grad: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 16
    *inputs, out, nodes, duals = ctx.saved_tensors
    needs = ctx.needs_input_grad
    wanted = [needs[1], needs[2], any(needs[6:10])]
    by_x, by_weight, by_scale, by_sizes = torch.ops.elasticgnn.propagate_backward(
        grad, grad if out is None else out, nodes, duals, *inputs, *ctx.options, wanted
    )
    sizes = [by_sizes[k] if needs[6 + k] else None for k in range(4)]
    return (
        by_x if needs[0] else None,
        by_weight if needs[1] else None,
        by_scale if needs[2] else None,
        *(None,) * 3,
        *sizes,
        *(None,) * 6,
    )


torch.library.register_autograd("elasticgnn::propagate", _differentiate, setup_context=_remember)


class _Transformable(torch.autograd.Function):
    """The same rules for torch.func, which does not look into registered operators."""

    @staticmethod
    def forward(*arguments: Any) -> Any:
        return torch.ops.elasticgnn.propagate(*arguments)

    setup_context = staticmethod(_remember)
    backward = staticmethod(_differentiate)


def propagate(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The registered operator, also inside torch.func transforms."""
    if torch._C._are_functorch_transforms_active():
        apply: Any = _Transformable.apply  # torch gives it no types
        return apply(*arguments)
    if arguments[13] == 0 and is_unwatched(arguments[0]):
        return _propagate(*arguments)
    return torch.ops.elasticgnn.propagate(*arguments)


def is_unwatched(x: Tensor) -> bool:
    """Whether nothing traces this call: the dispatcher would cost as much as a small graph."""
    return type(x) is Tensor and x.is_cpu and not is_traced()
