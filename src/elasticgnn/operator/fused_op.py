"""The torch.library operators `elasticgnn::propagate` and its adjoint, on the compiled loops.

Everything here is shapes, memory and registration; the mathematics is in kernels/emp.h.
"""

import functools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.kernels import native

NORMS = ("l21", "l1", "mcp", "scad")  # in the order of the kernels' EdgeNorm

_ARGUMENTS = (
    "Tensor x, Tensor weight, Tensor scale, Tensor start, Tensor column, Tensor edge, "
    "Tensor lambda1, Tensor gamma, Tensor beta, Tensor pull, Tensor order, Tensor rank, "
    "str norm, float concavity, int steps, int keep, bool lean, bool use_dual"
)
torch.library.define("elasticgnn::propagate", f"({_ARGUMENTS}) -> (Tensor, Tensor, Tensor)")
torch.library.define(
    "elasticgnn::propagate_backward",
    f"(Tensor grad, Tensor out, Tensor nodes, Tensor duals, {_ARGUMENTS}, bool[] wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)


class Keeping(NamedTuple):
    """What the forward pass leaves for the adjoint: node rows, and the dual at some steps."""

    every: int  # the dual is kept at steps every, 2 every, ...
    all_nodes: bool  # node rows of every step, or only those of the kept steps
    num_nodes_kept: int
    num_duals_kept: int


FAST_EVERY = 4


def plan_keeping(steps: int, keep: int, lean: bool, use_dual: bool, ratio: float = 2.0) -> Keeping:
    """The memory of one call; `keep` is 0 (nothing), 1 (gradient of x) or 2 (all gradients).

    `ratio` is edges per node: lean mode chooses the checkpoints by what they cost.
    """
    if keep == 0 or not use_dual or steps == 0:
        return Keeping(max(steps, 1), False, 0, 0)
    every = _lean_interval(steps, ratio) if lean else FAST_EVERY
    duals = (steps - 1) // every
    nodes = duals if lean else steps * (3 if keep == 2 else 1)
    return Keeping(every, not lean, nodes, duals)


def _lean_interval(steps: int, ratio: float) -> int:
    """Steps between checkpoints that need the least memory, in rows of all nodes.

    A checkpoint holds 1 + ratio of them, a replayed step 1, the replayed dual `ratio`.
    """
    longest = max(10, math.isqrt(steps) + 1)  # a step is replayed from its checkpoint: not too far

    def cost(every: int) -> float:
        working_dual = ratio if every < steps else 0.0
        return (steps - 1) // every * (1 + ratio) + every + working_dual

    return min(range(1, min(steps, longest) + 1), key=cost)


NATURAL = torch.empty(0, dtype=torch.int64)


def _as_lanes(x: Tensor, order: Tensor = NATURAL) -> Tensor:
    """(n, R, d) as the kernels want it: nodes in their order, runs innermost, contiguous."""
    if order.numel():
        x = x.index_select(0, order)
    return x.contiguous() if x.shape[1] == 1 else x.transpose(1, 2).contiguous()


def _as_runs(rows: Tensor, like: Tensor, rank: Tensor = NATURAL) -> Tensor:
    """Back to the order of nodes and the shape (n, R, d) of `like`."""
    n, runs, width = like.shape
    if rank.numel():
        rows = rows.index_select(0, rank)
    if runs == 1:
        return rows.view(n, runs, width)
    return rows.view(n, width, runs).transpose(1, 2).contiguous()


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None or tensor.numel() == 0 else tensor.data_ptr()


_scratch = functools.partial(torch.empty, dtype=torch.uint8)


class _Problem(NamedTuple):
    """The arguments that both kernels share, as addresses; `owners` keeps the memory alive."""

    arguments: tuple[Any, ...]
    owners: tuple[Tensor, ...]


def _problem(
    rows: Tensor, x: Tensor, tables: tuple[Tensor, ...], sizes: tuple[Tensor, ...], options: Any
) -> _Problem:
    norm, concavity, steps = options
    tables = tuple(table.contiguous() for table in tables)
    sizes = tuple(size.contiguous() for size in sizes)
    shape = (x.shape[0], tables[3].shape[0], x.shape[1], x.shape[2])
    arguments = (
        shape,
        tuple(table.data_ptr() for table in tables),
        tuple(size.data_ptr() for size in sizes),
        (NORMS.index(norm), steps, torch.get_num_threads()),
        concavity,
        rows.data_ptr(),
    )
    return _Problem(arguments, (rows, *tables, *sizes))


def _kernel(name: str, dtype: torch.dtype) -> Any:
    return getattr(native, f"{name}_{'f32' if dtype == torch.float32 else 'f64'}")


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
    order: Tensor,
    rank: Tensor,
    norm: str,
    concavity: float,
    steps: int,
    keep: int,
    lean: bool,
    use_dual: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    if steps == 0 or x.numel() == 0:
        return x.clone(memory_format=torch.contiguous_format), x.new_empty(0), x.new_empty(0)
    ratio = weight.shape[0] / x.shape[0]
    keeping = plan_keeping(steps, keep, lean, use_dual, ratio)
    row = x.shape[1] * x.shape[2]
    rows = _as_lanes(x, order)
    problem = _problem(
        rows,
        x,
        (start, column, edge, weight, scale),
        (lambda1, gamma, beta, pull),
        (norm, concavity, steps),
    )
    out = torch.empty_like(rows)
    nodes = x.new_empty(keeping.num_nodes_kept * x.shape[0] * row)
    duals = x.new_empty(keeping.num_duals_kept * weight.shape[0] * row)
    _kernel("emp_forward", x.dtype)(
        *problem.arguments,
        (0, 0, out.data_ptr(), 0, nodes.data_ptr(), duals.data_ptr()),
        use_dual,
        keep if use_dual else 0,
        keeping.every,
        keeping.all_nodes,
        _scratch,
    )
    return _as_runs(out, x, rank), nodes, duals


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
    rows = _as_lanes(x)
    first = None if signal is None else _as_lanes(signal)
    before = None if dual is None else _as_lanes(dual)
    problem = _problem(rows, x, tables, sizes, options)
    out = torch.empty_like(rows)
    last = rows.new_empty(num_edges, *rows.shape[1:])
    _kernel("emp_forward", x.dtype)(
        *problem.arguments,
        (_address(first), _address(before), out.data_ptr(), last.data_ptr(), 0, 0),
        True,
        0,
        1,
        False,
        _scratch,
    )
    return _as_runs(out, x), _as_runs(last, last.view(num_edges, runs, width))


@torch.library.register_fake("elasticgnn::propagate")  # type: ignore[untyped-decorator]
def _propagate_shapes(x: Tensor, weight: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    steps, keep, lean, use_dual = rest[12:]
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    if steps == 0 or x.numel() == 0:
        return out, x.new_empty(0), x.new_empty(0)
    ratio = weight.shape[0] / x.shape[0]
    keeping = plan_keeping(steps, keep, lean, use_dual, ratio)
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
    order: Tensor,
    rank: Tensor,
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
    ratio = weight.shape[0] / x.shape[0]
    keeping = plan_keeping(steps, keep if kept else 0, lean, use_dual, ratio)
    rows, grad_rows = _as_lanes(x, order), _as_lanes(grad, order)
    out_rows = _as_lanes(out, order) if wanted[1] else None
    problem = _problem(
        rows,
        x,
        (start, column, edge, weight, scale),
        (lambda1, gamma, beta, pull),
        (norm, concavity, steps),
    )
    grad_x = torch.empty_like(rows)
    others = tuple(x.new_zeros(shape) for shape in shapes)
    _kernel("emp_backward", x.dtype)(
        *problem.arguments,
        (grad_rows.data_ptr(), _address(out_rows), _address(nodes), _address(duals)),
        (grad_x.data_ptr(), *(_address(other) for other in others)),
        use_dual,
        kept,
        keeping.every,
        keeping.all_nodes,
        _scratch,
    )
    return (_as_runs(grad_x, x, rank), *others)


def _gradient_shapes(
    x: Tensor, weight: Tensor, scale: Tensor, wanted: list[bool]
) -> tuple[tuple[int, ...], ...]:
    """Shapes of the gradients of weight, scale and the four step sizes; unwanted ones are empty."""
    full = (tuple(weight.shape), tuple(scale.shape), (4, x.shape[1]))
    return tuple(shape if want else (0,) for shape, want in zip(full, wanted, strict=True))


@torch.library.register_fake("elasticgnn::propagate_backward")  # type: ignore[untyped-decorator]
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
    ctx.save_for_backward(*inputs[:12], out if needs_scale else None, nodes, duals)
    ctx.options = inputs[12:]


def _differentiate(ctx: Any, grad: Tensor | None, *_: Any) -> tuple[Tensor | None, ...]:
    if grad is None:
        return (None,) * 18
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
        *(None,) * 8,
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
        return _Transformable.apply(*arguments)  # type: ignore[no-untyped-call]
    if arguments[15] == 0 and _unwatched(arguments[0]):
        return _propagate(*arguments)
    return torch.ops.elasticgnn.propagate(*arguments)


def _unwatched(x: Tensor) -> bool:
    """Whether nothing traces this call: the dispatcher would cost as much as a small graph."""
    plain = type(x) is Tensor and x.device.type == "cpu"
    return plain and not torch.compiler.is_compiling() and not torch._C._len_torch_dispatch_stack()
