"""Whether torch transforms what is computed here in a way that compiled loops cannot follow."""

import torch
from torch.autograd import forward_ad


def is_batched_or_pushed_forward() -> bool:
    """Inside torch.func's vmap or jvp, or forward-mode differentiation: plain torch must do it.

    Gradients in reverse have rules of their own.
    """
    if torch.compiler.is_compiling():
        return False
    if forward_ad._current_level >= 0:
        return True
    if not torch._C._are_functorch_transforms_active():
        return False
    kinds = torch._C._functorch.TransformType
    stack = torch._C._functorch.get_interpreter_stack() or []
    return any(level.key() in (kinds.Vmap, kinds.Jvp) for level in stack)
