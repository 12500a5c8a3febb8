"""The plain steps as a torch.autograd.Function, differentiable in every input any number of times.

All that is saved for the gradient is saved by torch: it is freed after the backward pass, and hooks
on saved tensors (checkpointing, offloading) see it.
"""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph.once import needs_gradient
from elasticgnn.kernels.transforms import is_many, needs_plain_torch
from elasticgnn.operator import plain_adjoint
from elasticgnn.operator.plain_steps import Tape, plain_steps
from elasticgnn.operator.second_order import (
    Inputs,
    Settings,
    differentiate_gradients,
    plain_gradients,
)


def propagate(inputs: Inputs, settings: Settings) -> Tensor:
    """x (n, R, d) of the inputs after the steps."""
    wanted = [needs_gradient(entry) for entry in inputs]
    if not (torch.is_grad_enabled() and any(wanted)):
        return plain_steps(inputs, settings).run(inputs.x)
    apply: Any = _Propagate.apply  # torch gives it no types
    out: Tensor = apply(settings, any(wanted[1:]), *inputs)[0]
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(settings: Settings, everything: bool, *inputs: Tensor) -> tuple[Tensor, ...]:
        given = Inputs(*inputs)
        steps = plain_steps(given, settings)
        tape = steps.make_tape(given.x, everything)
        return steps.run(given.x, tape), *tape

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        settings, _, *given = inputs
        ctx.settings = settings
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*given, *output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * 9
        saved = ctx.saved_tensors
        given, rest = Inputs(*saved[:7]), saved[7:]
        targets = [k for k, needed in enumerate(ctx.needs_input_grad[2:]) if needed]
        found = _any_gradients(grad, given, ctx.settings, rest, targets)
        out: list[Tensor | None] = [None] * len(given)
        for k, gradient in zip(targets, found, strict=True):
            out[k] = gradient
        return None, None, *out


def _any_gradients(
    grad: Tensor,
    given: Inputs,
    settings: Settings,
    rest: tuple[Tensor, ...],
    targets: list[int],
) -> tuple[Tensor, ...]:
    """The gradients as whoever watches needs them."""
    if is_many(grad) or needs_plain_torch():  # plain torch knows what to do there
        return plain_gradients(grad, given, settings, targets)
    if torch.is_grad_enabled() or torch._C._are_functorch_transforms_active():
        apply: Any = _Adjoint.apply
        found: tuple[Tensor, ...] = apply(settings, rest, targets, grad, *given)
        return found
    return _gradients(grad, given, settings, rest, targets)


class _Adjoint(torch.autograd.Function):
    """The gradients as a function of the cotangent and of the inputs."""

    @staticmethod
    def forward(
        settings: Settings, rest: tuple[Tensor, ...], targets: list[int], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        return _gradients(tensors[0], Inputs(*tensors[1:]), settings, rest, targets)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.settings, _, ctx.targets, *tensors = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
        grad, *inputs = ctx.saved_tensors
        of_inputs: list[Tensor | None] = [None] * len(inputs)
        for k, cotangent in zip(ctx.targets, cotangents, strict=True):
            of_inputs[k] = cotangent
        needed = ctx.needs_input_grad[3:]
        second = differentiate_gradients(
            grad, Inputs(*inputs), ctx.settings, tuple(of_inputs), needed
        )
        return None, None, None, *second


def _gradients(
    grad: Tensor,
    inputs: Inputs,
    settings: Settings,
    rest: tuple[Tensor, ...],
    targets: list[int],
) -> tuple[Tensor, ...]:
    out, *tape = rest
    steps = plain_steps(inputs, settings)
    found = plain_adjoint.gradients(steps, inputs, out, grad, Tape(*tape))
    return (found,) if isinstance(found, Tensor) else tuple(found[k] for k in targets)
