"""Memory for the active rows that the compiled loops save for the gradient."""

import torch
from torch import Tensor


def fresh(count: int) -> Tensor:
    """New memory of `count` bytes."""
    return torch.empty(count, dtype=torch.uint8, device="cpu")


class MemoryLimitError(Exception):
    """The loops would save more than they may."""


class SavedRows:
    """A table of `pointers` to rows, `marks` bytes, and memory that the loops ask for on their way.

    With a `limit` (bytes in all) asking for more raises MemoryLimitError.
    """

    def __init__(self, pointers: int, marks: int, limit: int | None = None) -> None:
        size = 8 * pointers + marks
        self.pieces = [fresh(size)]  # the table and the marks, then what the table points to
        first = self.pieces[0].data_ptr()
        self.addresses = (first, first + 8 * pointers)
        self.room = None if limit is None else limit - size

    def more(self, count: int) -> Tensor:
        """A fresh piece of so many numbers; MemoryLimitError beyond the allowed room."""
        if self.room is not None:
            self.room -= count
            if self.room < 0:
                raise MemoryLimitError
        self.pieces.append(fresh(count))
        return self.pieces[-1]
