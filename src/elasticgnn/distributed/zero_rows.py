"""Memory for rows of nodes and edges: what is large comes in large pages."""

from __future__ import annotations

import contextlib
import mmap

import torch
from torch import Tensor

# Up to this size the C library hands out memory again that it has; beyond it every array is new,
# and comes in pages of 4 KB that are cleared one by one.
MAPPED = 32 << 20  # bytes


def zero_rows(rows: int, width: int, dtype: torch.dtype) -> Tensor:
    """Zeros (rows, width), in large pages where the system has them."""
    size = rows * width * dtype.itemsize
    if size <= MAPPED or not hasattr(mmap, "MADV_HUGEPAGE"):
        return torch.zeros(rows, width, dtype=dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a kernel without large pages: small ones do as well
        memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=dtype, count=rows * width).view(rows, width)
