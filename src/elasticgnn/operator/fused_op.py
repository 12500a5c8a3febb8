"""The torch.library operators `elasticgnn::propagate` and its adjoint, on the compiled loops.

Everything here is shapes, memory and registration; the mathematics is in kernels/emp/problem.h.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.once import is_traced
from elasticgnn.kernels.transforms import is_batched_or_pushed_forward
from elasticgnn.operator.keeping import Keeping, plan_device_keeping, plan_keeping
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
from elasticgnn.operator.second_order import (
    Inputs,
    Settings,
    differentiate_gradients,
    edge_ends,
    plain_gradients,
)
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalties.registry import penalty_by_name

_ARGUMENTS = (
    "Tensor x, Tensor weight, Tensor scale, Tensor start, Tensor column, Tensor edge, "
    "Tensor lambda1, Tensor gamma, Tensor beta, Tensor pull, "
    "str norm, float concavity, int steps, int keep, str memory, bool use_dual"
)
torch.library.define("elasticgnn::propagate", f"({_ARGUMENTS}) -> (Tensor, Tensor, Tensor)")
torch.library.define(
    "elasticgnn::propagate_backward",
    f"(Tensor grad, Tensor out, Tensor nodes, Tensor duals, {_ARGUMENTS}, bool[] wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)


class Arguments(NamedTuple):
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
    memory: str
    use_dual: bool

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to compute."""
        return self.steps == 0 or self.x.numel() == 0

    @property
    def lean(self) -> bool:
        """Whether as little as possible is kept."""
        return self.memory == "lean"

    def keeping(self, keep: int) -> Keeping:
        """What is kept for the gradient, given edges per node and the bytes of many runs' state."""
        if not self.x.is_cpu:
            return plan_device_keeping(self.steps, keep, self.lean)
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
            options = (penalty_by_name(self.norm, self.concavity), self.steps)
            yield group, problem(as_lanes(rows), rows, tables, sizes, options)


def _propagate(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    given = Arguments(*arguments)
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
        )
        hand_back(moved, out, group)
    return out, nodes, duals


torch.library.impl("elasticgnn::propagate", "CPU", _propagate)


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


def _propagate_shapes(*arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
    given = Arguments(*arguments)
    x = given.x
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if given.is_trivial:
        return out, x.new_empty(0), x.new_empty(0)
    keeping = given.keeping(given.keep)
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(keeping.num_nodes_kept * x.shape[0] * row)
    kind = torch.bfloat16 if given.memory == "half" and not x.is_cpu else x.dtype
    duals = x.new_empty(keeping.num_duals_kept * given.weight.shape[0] * row, dtype=kind)
    return out, nodes, duals


torch.library.register_fake("elasticgnn::propagate", _propagate_shapes)


def _propagate_backward(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    *arguments, wanted = rest
    given = Arguments(*arguments)
    x = given.x
    shapes = gradient_shapes(given, wanted)
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
        )
        hand_back(moved, grad_x, group)
        by_weight += sums[0]
        by_scale += sums[1]
        if wanted[2]:
            by_sizes[:, group] = sums[2]
    return grad_x, by_weight, by_scale, by_sizes


torch.library.impl("elasticgnn::propagate_backward", "CPU", _propagate_backward)


def gradient_shapes(given: Arguments, wanted: list[bool]) -> tuple[tuple[int, ...], ...]:
    """Shapes of the gradients of weight, scale and the four step sizes; unwanted ones are empty."""
    full = (tuple(given.weight.shape), tuple(given.scale.shape), (4, given.x.shape[1]))
    return tuple(shape if want else (0,) for shape, want in zip(full, wanted, strict=True))


def _propagate_backward_shapes(
    grad: Tensor, out: Tensor, nodes: Tensor, duals: Tensor, *rest: Any
) -> tuple[Tensor, ...]:
    *arguments, wanted = rest
    given = Arguments(*arguments)
    first = torch.empty_like(given.x, memory_format=torch.contiguous_format)
    return first, *(given.x.new_empty(shape) for shape in gradient_shapes(given, wanted))


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
    by_x, by_weight, by_scale, by_sizes = gradients(
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


def _settings(start: Tensor, column: Tensor, norm: str, concavity: float, steps: int) -> Settings:
    return Settings(*edge_ends(start, column), penalty_by_name(norm, concavity), steps)


torch.library.register_autograd("elasticgnn::propagate", _differentiate, setup_context=_remember)


def _remember_gradient(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    grad, _, _, _, *given, _ = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(grad, *given[:10])
    ctx.options = given[10:13]


def _differentiate_gradient(ctx: Any, *cotangents: Tensor | None) -> tuple[Any, ...]:
    grad, x, weight, scale, start, column, _, *sizes = ctx.saved_tensors
    needs, (by_x, by_weight, by_scale, by_sizes) = ctx.needs_input_grad, cotangents
    settings = _settings(start, column, *ctx.options)
    each = (None,) * 4 if by_sizes is None else by_sizes.unbind(0)
    wanted = (by_x, *(None if c is None or not c.numel() else c for c in (by_weight, by_scale)))
    needed = (needs[0], *needs[4:7], *needs[10:14])
    by_grad, *rest = differentiate_gradients(
        grad, Inputs(x, weight, scale, *sizes), settings, (*wanted, *each), needed
    )
    return by_grad, *(None,) * 3, *rest[:3], *(None,) * 3, *rest[3:], *(None,) * 7


torch.library.register_autograd(
    "elasticgnn::propagate_backward", _differentiate_gradient, setup_context=_remember_gradient
)


class _Transformable(torch.autograd.Function):
    """The same rules for torch.func, which does not look into registered operators."""

    @staticmethod
    def forward(*arguments: Any) -> Any:
        return torch.ops.elasticgnn.propagate(*arguments)

    setup_context = staticmethod(_remember)
    backward = staticmethod(_differentiate)


class _TransformableGradient(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> Any:
        return torch.ops.elasticgnn.propagate_backward(*arguments)

    setup_context = staticmethod(_remember_gradient)
    backward = staticmethod(_differentiate_gradient)


def _plain_gradients(*arguments: Any) -> tuple[Tensor, ...]:
    """The same in plain torch, which vmap and jvp can follow: jacobians push many cotangents."""
    grad, _, _, _, x, weight, scale, start, column, _, *sizes = arguments[:14]
    settings = _settings(start, column, *arguments[14:17])
    inputs = Inputs(x, weight, scale, *sizes)
    by_x, by_weight, by_scale, *by_sizes = plain_gradients(grad, inputs, settings, [*range(7)])
    return by_x, by_weight, by_scale, torch.stack(by_sizes)


def gradients(*arguments: Any) -> tuple[Tensor, ...]:
    """The registered adjoint, also inside torch.func transforms."""
    if is_batched_or_pushed_forward():
        return _plain_gradients(*arguments)
    if torch._C._are_functorch_transforms_active():
        apply: Any = _TransformableGradient.apply  # torch gives it no types
        return apply(*arguments)
    return torch.ops.elasticgnn.propagate_backward(*arguments)


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
