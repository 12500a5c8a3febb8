"""What a graph computes once: remembered by the graph, a constant to torch.compile."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
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
            with _lasting():
                memory[key] = make(graph, *arguments)
        return memory[key]

    # what torch.compiler.assume_constant_result sets, without the second that its import takes
    known.__dict__["_dynamo_marked_constant"] = True
    return known


def _lasting() -> AbstractContextManager[object]:
    """What is made within outlives a torch.func transform: its tensors are not the transform's."""
    if torch._C._are_functorch_transforms_active():
        return torch._C._DisableFuncTorch()
    return nullcontext()
