"""The torch.library operators `elasticgnn::propagate` and its adjoint, with their derivatives.

operator/fused_loops.py runs them on the CPU, operator/triton/loops.py on a GPU.
"""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph.once import is_traced
from elasticgnn.kernels.transforms import is_pushed_forward
from elasticgnn.operator import fused_loops
from elasticgnn.operator.batching import Batched, adjoint_batch, propagate_batch
from elasticgnn.operator.request import Request
from elasticgnn.operator.second_order import (
    Inputs,
    Settings,
    differentiate_gradients,
    edge_ends,
    plain_gradients,
)
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem.penalties.registry import penalty_by_name

_ARGUMENTS = (
    "Tensor x, Tensor weight, Tensor scale, Tensor start, Tensor column, Tensor edge, "
    "Tensor lambda1, Tensor gamma, Tensor beta, Tensor smoothing, "
    "str norm, float concavity, int steps, str gradients, str memory, bool use_dual"
)
torch.library.define("elasticgnn::propagate", f"({_ARGUMENTS}) -> (Tensor, Tensor, Tensor)")
torch.library.define(
    "elasticgnn::propagate_backward",
    f"(Tensor grad, Tensor out, Tensor nodes, Tensor duals, {_ARGUMENTS}, bool[] wanted)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
torch.library.impl("elasticgnn::propagate", "CPU", fused_loops.forward)
torch.library.register_fake("elasticgnn::propagate", fused_loops.forward_shapes)
torch.library.impl("elasticgnn::propagate_backward", "CPU", fused_loops.backward)
torch.library.register_fake("elasticgnn::propagate_backward", fused_loops.backward_shapes)


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

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Batched:
        return propagate_batch(propagate, info.batch_size, in_dims, arguments)


class _TransformableGradient(torch.autograd.Function):
    @staticmethod
    def forward(*arguments: Any) -> Any:
        return torch.ops.elasticgnn.propagate_backward(*arguments)

    setup_context = staticmethod(_remember_gradient)
    backward = staticmethod(_differentiate_gradient)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> Batched:
        return adjoint_batch(gradients, info.batch_size, in_dims, arguments)


def _plain_gradients(*arguments: Any) -> tuple[Tensor, ...]:
    """The same in plain torch, which jvp can follow."""
    grad, _, _, _, x, weight, scale, start, column, _, *sizes = arguments[:14]
    settings = _settings(start, column, *arguments[14:17])
    inputs = Inputs(x, weight, scale, *sizes)
    by_x, by_weight, by_scale, *by_sizes = plain_gradients(grad, inputs, settings, [*range(7)])
    return by_x, by_weight, by_scale, torch.stack(by_sizes)


def gradients(*arguments: Any) -> tuple[Tensor, ...]:
    """The registered adjoint, also inside torch.func transforms."""
    if is_pushed_forward():
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
    if arguments[13] == "none" and is_unwatched(arguments[0]):
        return fused_loops.forward(*arguments)
    return torch.ops.elasticgnn.propagate(*arguments)


def propagate_request(request: Request, use_dual: bool) -> Tensor:
    """x of a request after its steps, by the registered operator."""
    x, slots = request.x, request.graph._slots
    tables = (*request.graph._cast(x.dtype), slots.start, slots.column, slots.edge)
    options = (request.norm, request.concavity, request.steps)
    memory = (request.gradients, request.memory, use_dual)
    return propagate(with_runs(x), *tables, *request.sizes, *options, *memory)[0].view(x.shape)


def is_unwatched(x: Tensor) -> bool:
    """Whether nothing traces this call: the dispatcher would cost as much as a small graph."""
    return type(x) is Tensor and x.is_cpu and not is_traced()
