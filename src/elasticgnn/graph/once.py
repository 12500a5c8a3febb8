"""What a graph computes once: remembered by the graph, a constant to torch.compile."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch


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
        return (make if graph.weight.requires_grad else remembered)(graph, *arguments)

    return known


@contextmanager
def lasting() -> Iterator[None]:
    """What is made within outlives torch.func transforms and inference mode: an ordinary tensor."""
    with ExitStack() as stack:
        if torch._C._are_functorch_transforms_active():
            stack.enter_context(torch._C._DisableFuncTorch())
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(False))
        yield


def is_traced() -> bool:
    """Whether something watches what is done to tensors here, so that none may be remembered."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return True
    return bool(torch._C._len_torch_dispatch_stack())
