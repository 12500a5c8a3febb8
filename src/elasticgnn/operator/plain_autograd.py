"""The plain steps as a torch.autograd.Function, differentiable in every input any number of times.

All that is kept for the gradient is kept by torch: it is freed after the backward pass, and hooks
on saved tensors (checkpointing, offloading) see it.
"""

from typing import Any

import torch
from torch import Tensor

from elasticgnn.kernels.transforms import is_many
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
    if not (torch.is_grad_enabled() and any(entry.requires_grad for entry in inputs)):
        return plain_steps(inputs, settings).run(inputs.x)
    apply: Any = _Propagate.apply  # torch gives it no types
    out: Tensor = apply(settings, *inputs)
    return out


class _Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, settings: Settings, *inputs: Tensor) -> Tensor:
        given = Inputs(*inputs)
        steps = plain_steps(given, settings)
        tape = steps.make_tape(given.x, any(ctx.needs_input_grad[2:]))
        out = steps.run(given.x, tape)
        ctx.settings = settings
        ctx.save_for_backward(*inputs, out, *tape)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        given, rest = Inputs(*saved[:7]), saved[7:]
        targets = [k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed]
        if is_many(grad):  # plain torch knows what to do with many cotangents at once
            found = plain_gradients(grad, given, ctx.settings, targets)
        elif torch.is_grad_enabled():
            apply: Any = _Adjoint.apply
            found = apply(ctx.settings, rest, targets, grad, *given)
        else:
            found = _gradients(grad, given, ctx.settings, rest, targets)
        out: list[Tensor | None] = [None] * len(given)
        for k, gradient in zip(targets, found, strict=True):
            out[k] = gradient
        return None, *out


class _Adjoint(torch.autograd.Function):
    """The gradients as a function of the cotangent and of the inputs."""

    @staticmethod
    def forward(
        ctx: Any, settings: Settings, rest: tuple[Tensor, ...], targets: list[int], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.settings, ctx.targets = settings, targets
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return _gradients(tensors[0], Inputs(*tensors[1:]), settings, rest, targets)

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
