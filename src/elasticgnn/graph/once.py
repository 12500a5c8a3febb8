"""What a graph computes once: remembered by the graph, a constant to torch.compile."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """`make(graph, ...)`, remembered in the graph's `_known`.

    functools.cached_property holds a lock, which torch.compile cannot trace.
    """

    @wraps(make)
    def known(graph: Any, *arguments: Any) -> Any:
        memory: dict[Any, Any] = graph.__dict__["_known"]
        key = (make.__name__, *arguments)
        if key not in memory:
            with lasting():
                memory[key] = make(graph, *arguments)
        return memory[key]

    # what torch.compiler.assume_constant_result sets, without the second that its import takes
    known.__dict__["_dynamo_marked_constant"] = True
    return known


def once_if_fixed(make: Callable[..., Any]) -> Callable[..., Any]:
    """The same, but made anew for weights that ask for a gradient: each use needs its own, and
    an optimizer may change them."""
    remembered = once(make)

    @wraps(make)
    def known(graph: Any, *arguments: Any) -> Any:
        return (make if may_need_gradient(graph._weight) else remembered)(graph, *arguments)

    return known


def may_need_gradient(tensor: Tensor) -> bool:
    """Whether a gradient is asked of a tensor, here or by an outer torch.func transform.

    requires_grad speaks of the innermost transform only.
    """
    if tensor.requires_grad or torch.compiler.is_compiling():
        return tensor.requires_grad
    return is_wrapped(tensor)


def needs_gradient(tensor: Tensor) -> bool:
    """The same, but not for tensors that an outer transform batches and nothing else."""
    if tensor.requires_grad or torch.compiler.is_compiling():
        return tensor.requires_grad
    while not tensor.requires_grad and is_wrapped(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor.requires_grad


def is_wrapped(tensor: Tensor) -> bool:
    """Whether a transform of torch.func stands between the tensor and its numbers."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))


def all_numbers(tensor: Tensor) -> Tensor:
    """What a tensor holds, in every member of a vmap: to check values, without a gradient."""
    if not torch.compiler.is_compiling():
        while is_wrapped(tensor):
            tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor.detach()


def is_compiling() -> bool:
    """Whether torch.compile, torch.export or make_fx follows, to whom no value is known."""
    return torch.compiler.is_compiling() or _has_proxies()


def _has_proxies() -> bool:
    modes: Any = torch._C  # its stubs leave the keys out
    kind = modes._TorchDispatchModeKey.PROXY
    return modes._len_torch_dispatch_stack() > 0 and modes._get_dispatch_mode(kind) is not None


@contextmanager
def lasting() -> Iterator[None]:
    """What is made within outlives torch.func transforms and inference mode: an ordinary tensor."""
    with ExitStack() as stack:
        if torch._C._are_functorch_transforms_active():
            stack.enter_context(torch._C._DisableFuncTorch())
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        if torch._C._get_tracing_state() is not None:
            stack.enter_context(unrecorded())
        yield


@contextmanager
def unrecorded() -> Iterator[None]:
    """What is made within is a constant to torch.jit.trace, whether it was known before or not."""
    tracer: Any = torch._C  # its stubs leave the setter out
    state = tracer._get_tracing_state()
    tracer._set_tracing_state(None)
    try:
        yield
    finally:
        tracer._set_tracing_state(state)


def is_traced() -> bool:
    """Whether something watches what is done to tensors here, so that none may be remembered."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return True
    return bool(torch._C._len_torch_dispatch_stack())
