"""Whether torch transforms what is computed here in a way that compiled loops cannot follow."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def needs_plain_torch() -> bool:
    """Inside torch.func's vmap, jvp or functionalize, or forward-mode differentiation.

    Gradients in reverse have rules of their own.
    """
    return is_pushed_forward() or is_batched() or is_functionalized()


def is_pushed_forward() -> bool:
    """Inside torch.func's jvp, or forward-mode differentiation."""
    if torch.compiler.is_compiling():
        return False
    in_dual_level = forward_ad._current_level >= 0
    return in_dual_level or _is_within(torch._C._functorch.TransformType.Jvp)


def is_batched() -> bool:
    """Inside torch.func's vmap."""
    return _is_within(torch._C._functorch.TransformType.Vmap)


def is_functionalized() -> bool:
    """Inside torch.func's functionalize, which knows no functions with gradients of their own."""
    return _is_within(torch._C._functorch.TransformType.Functionalize)


def is_transformed() -> bool:
    """Inside any of torch.func's transforms, gradients included."""
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def is_many(tensor: Tensor) -> bool:
    """Whether a tensor stands for a batch of them, also in autograd.grad(is_grads_batched=True)."""
    wrapping: Any = torch._C._functorch  # its stubs leave one out
    return bool(wrapping.is_batchedtensor(tensor) or wrapping.is_legacy_batchedtensor(tensor))


def is_many_or_pushed_forward(cotangent: Tensor) -> bool:
    """Whether a gradient must be plain torch's: of many cotangents, or of one with a tangent."""
    return is_many(cotangent) or is_pushed_forward()


def _is_within(kind: Any) -> bool:
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return False
    stack = torch._C._functorch.get_interpreter_stack() or []
    return any(level.key() == kind for level in stack)
