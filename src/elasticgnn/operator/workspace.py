"""Scratch of the compiled loops, kept from call to call.

Fresh memory comes from the system page by page: on a small graph that costs as much as the steps.
"""

import threading

import torch
from torch import Tensor

LARGEST = 1 << 25  # bytes that a thread keeps; beyond, the pages cost little beside the steps


def fresh(count: int) -> Tensor:
    """New memory of `count` bytes."""
    return torch.empty(count, dtype=torch.uint8, device="cpu")


class _Workspace(threading.local):
    """One buffer for each thread; while it is lent, a call within the call gets another one."""

    def __init__(self) -> None:
        self.kept: Tensor | None = None

    def take(self, count: int) -> Tensor:
        """At least `count` bytes, which hold anything."""
        buffer, self.kept = self.kept, None
        if buffer is not None and buffer.nbytes >= count:
            return buffer
        del buffer  # before there is a larger one
        return fresh(count)

    def give(self, buffer: Tensor) -> None:
        """Back from a call."""
        if buffer.nbytes <= LARGEST:
            self.kept = buffer

    def clear(self) -> None:
        """Give this thread's memory back to torch."""
        self.kept = None


workspace = _Workspace()
