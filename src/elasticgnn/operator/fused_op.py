"""The torch.library operators `elasticgnn::propagate` and its adjoint, on the compiled loops.

Everything here is shapes, memory and registration; the mathematics is in kernels/emp.h.
"""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.operator.keeping import plan_keeping
from elasticgnn.operator.kernel_call import (
    address,
    as_lanes,
    as_runs,
    kernel,
    problem,
    run_groups,
    scratch,
    share_of,
)

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


def _propagate(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    start: Tensor,
    column: Tensor,
    edge: Tensor,
    lambda1: Tensor,
    gamma: Tensor,
    beta: Tensor,
    pull: Tensor,
    norm: str,
    concavity: float,
    steps: int,
    keep: int,
    lean: bool,
    use_dual: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    if steps == 0 or x.numel() == 0:
        return x.clone(memory_format=torch.contiguous_format), x.new_empty(0), x.new_empty(0)
    keeping = plan_keeping(steps, keep, lean, use_dual, *_extent(x, weight))
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    nodes = x.new_empty(keeping.num_nodes_kept * x.numel())
    duals = x.new_empty(keeping.num_duals_kept * weight.shape[0] * x.shape[1] * x.shape[2])
    for group in run_groups(x):
        rows = as_lanes(x[:, group])
        task = problem(
            rows,
            x[:, group],
            (start, column, edge, weight, scale),
            tuple(size[group] for size in (lambda1, gamma, beta, pull)),
            (norm, concavity, steps),
        )
        moved = torch.empty_like(rows)
        kept = (share_of(nodes, group, x).data_ptr(), share_of(duals, group, x).data_ptr())
        kernel("emp_forward", x.dtype)(
            *task.arguments,
            (0, 0, moved.data_ptr(), 0, *kept),
            use_dual,
            keep if use_dual else 0,
            keeping.every,
            keeping.all_nodes,
            scratch,
        )
        out[:, group] = as_runs(moved, x[:, group])
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
        scratch,
    )
    return as_runs(out, x), as_runs(last, last.view(num_edges, runs, width))


@torch.library.register_fake("elasticgnn::propagate")  # type: ignore[untyped-decorator]  # torch's
def _propagate_shapes(x: Tensor, weight: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    steps, keep, lean, use_dual = rest[10:]
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if steps == 0 or x.numel() == 0:
        return out, x.new_empty(0), x.new_empty(0)
    keeping = plan_keeping(steps, keep, lean, use_dual, *_extent(x, weight))
    row = x.shape[1] * x.shape[2]
    nodes = x.new_empty(keeping.num_nodes_kept * x.shape[0] * row)
    return out, nodes, x.new_empty(keeping.num_duals_kept * weight.shape[0] * row)


@torch.library.impl("elasticgnn::propagate_backward", "CPU")
def _propagate_backward(
    grad: Tensor,
    out: Tensor,
    nodes: Tensor,
    duals: Tensor,
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    start: Tensor,
    column: Tensor,
    edge: Tensor,
    lambda1: Tensor,
    gamma: Tensor,
    beta: Tensor,
    pull: Tensor,
    norm: str,
    concavity: float,
    steps: int,
    keep: int,
    lean: bool,
    use_dual: bool,
    wanted: list[bool],
) -> tuple[Tensor, ...]:
    shapes = _gradient_shapes(x, weight, scale, wanted)
    if steps == 0 or x.numel() == 0:
        others = tuple(x.new_zeros(shape) for shape in shapes)
        return (grad.clone(memory_format=torch.contiguous_format), *others)
    kept = nodes.numel() > 0 or duals.numel() > 0
    keeping = plan_keeping(steps, keep if kept else 0, lean, use_dual, *_extent(x, weight))
    grad_x = torch.empty_like(x, memory_format=torch.contiguous_format)
    by_weight, by_scale, by_sizes = (x.new_zeros(shape) for shape in shapes)
    for group in run_groups(x):
        rows, grad_rows = as_lanes(x[:, group]), as_lanes(grad[:, group])
        out_rows = as_lanes(out[:, group]) if wanted[1] else None
        task = problem(
            rows,
            x[:, group],
            (start, column, edge, weight, scale),
            tuple(size[group] for size in (lambda1, gamma, beta, pull)),
            (norm, concavity, steps),
        )
        moved = torch.empty_like(rows)
        sums = [torch.zeros_like(by_weight), torch.zeros_like(by_scale)]
        sums.append(by_sizes.new_zeros(4, group.stop - group.start) if wanted[2] else by_sizes)
        states = (share_of(nodes, group, x), share_of(duals, group, x))
        kernel("emp_backward", x.dtype)(
            *task.arguments,
            (grad_rows.data_ptr(), address(out_rows), *map(address, states)),
            (moved.data_ptr(), *map(address, sums)),
            use_dual,
            kept,
            keeping.every,
            keeping.all_nodes,
            scratch,
        )
        grad_x[:, group] = as_runs(moved, x[:, group])
        by_weight += sums[0]
        by_scale += sums[1]
        if wanted[2]:
            by_sizes[:, group] = sums[2]
    return grad_x, by_weight, by_scale, by_sizes


def _extent(x: Tensor, weight: Tensor) -> tuple[float, int]:
    """Edges per node, and the bytes of one state of several runs side by side (0: one run)."""
    rows = x.shape[0] + weight.shape[0]
    side_by_side = rows * x.shape[1] * x.shape[2] * x.element_size() if x.shape[1] > 1 else 0
    return weight.shape[0] / x.shape[0], side_by_side


def _gradient_shapes(
    x: Tensor, weight: Tensor, scale: Tensor, wanted: list[bool]
) -> tuple[tuple[int, ...], ...]:
    """Shapes of the gradients of weight, scale and the four step sizes; unwanted ones are empty."""
    full = (tuple(weight.shape), tuple(scale.shape), (4, x.shape[1]))
    return tuple(shape if want else (0,) for shape, want in zip(full, wanted, strict=True))


@torch.library.register_fake("elasticgnn::propagate_backward")  # type: ignore[untyped-decorator]  # torch's
def _propagate_backward_shapes(
    grad: Tensor,
    out: Tensor,
    nodes: Tensor,
    duals: Tensor,
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    *rest: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    shapes = _gradient_shapes(x, weight, scale, rest[-1])
    first = torch.empty_like(x, memory_format=torch.contiguous_format)
    by_weight, by_scale, by_sizes = (x.new_empty(shape) for shape in shapes)
    return first, by_weight, by_scale, by_sizes


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
        return _Transformable.apply(*arguments)  # type: ignore[no-untyped-call]  # torch's
    if arguments[13] == 0 and is_unwatched(arguments[0]):
        return _propagate(*arguments)
    return torch.ops.elasticgnn.propagate(*arguments)


def is_unwatched(x: Tensor) -> bool:
    """Whether nothing traces this call: the dispatcher would cost as much as a small graph."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    plain = type(x) is Tensor and x.device.type == "cpu"
    return plain and not torch._C._len_torch_dispatch_stack()
