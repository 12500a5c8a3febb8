"""Memory for the active rows that the compiled loops save for the gradient.

It comes in blocks, which are kept from call to call: fresh memory comes from the system page by
page, each of them cleared, which can cost as much as the steps (benchmarks/bench_saved_rows.py).
Large ones are meanwhile lent to the system, which takes their pages back when memory is short.
"""

import mmap
from itertools import chain
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from elasticgnn.kernels import native

loops: Any = native  # not None where rows are saved
SMALLEST, LARGEST = 1 << 16, 1 << 23  # bytes of a block; each is twice the one before
LARGE = 1 << 20  # bytes, from which on a block is lent
SMALL_BLOCKS, SMALL_CALLS = 4, 64  # that are kept, and whose sizes are remembered
ALIGNMENT = 64  # bytes, a line of the cache: no two threads write to one
CAN_LEND = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")  # Linux


def fresh(count: int) -> Tensor:
    """New memory of `count` bytes."""
    return torch.empty(count, dtype=torch.uint8, device="cpu")


def none_saved(count: int) -> int:
    """Stands for `SavedRows.more` in calls that save no rows."""
    raise AssertionError(f"{count} bytes must not be asked for where no rows are saved")


class MemoryLimitError(Exception):
    """The loops would save more than they may."""


class Block:
    """A stretch of memory that is handed out piece by piece."""

    def __init__(self, size: int) -> None:
        self.pages = _map_pages(size) if CAN_LEND and size >= LARGE else None
        self.bytes = (
            fresh(size) if self.pages is None else torch.frombuffer(self.pages, dtype=torch.uint8)
        )
        self.size, self.address = size, self.bytes.data_ptr()
        self.used = 0

    def take(self, count: int) -> int | None:
        """The address of the next `count` bytes, or None: they do not fit any more."""
        begin, end = self.used, self.used + count
        if end > self.size:
            return None
        self.used = -(-end // ALIGNMENT) * ALIGNMENT
        return self.address + begin

    def lend(self) -> bool:
        """Whether the system now may take the pages, until they are written again."""
        self.used = 0
        return self.pages is not None and _advise(self.pages, mmap.MADV_FREE)


def _map_pages(size: int) -> mmap.mmap:
    """Pages of this process alone: what is shared cannot be lent."""
    try:
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"{size} bytes for the rows of the gradient: {error}") from error
    _advise(pages, mmap.MADV_HUGEPAGE)
    return pages


def _advise(pages: mmap.mmap, advice: int) -> bool:
    """Whether the system took the advice, which it may not know."""
    try:
        pages.madvise(advice)
    except OSError:
        return False
    return True


class BlockPool:
    """Blocks in no use: large ones by their size, and a few small ones.

    Lists give and take whole entries, so that threads need no lock; one could be held by the very
    thread that the collection of garbage brings here again.
    """

    def __init__(self) -> None:
        self.free: dict[int, list[Block]] = {}
        self.small: list[Block] = []
        self.most = 0  # bytes of large blocks that one call used since `clear`
        self.expected: dict[tuple[int, int], int] = {}  # bytes of small calls, by their tables

    def take(self, size: int) -> Block:
        """A kept block of this size, or a new one; instead of a small one a larger one will do."""
        try:
            block = (self.small if size < LARGE else self.free[size]).pop()
        except (KeyError, IndexError):
            return Block(size)
        return block if block.size >= size else Block(size)

    def give(self, blocks: list[Block]) -> None:
        """Keep some small ones, and those that can be lent, as far as there is room."""
        for block in blocks:
            if block.size < LARGE and len(self.small) < SMALL_BLOCKS:
                block.used = 0
                self.small.append(block)
        large = [block for block in blocks if block.pages is not None]
        if not large:
            return
        self.most = max(self.most, sum(block.used for block in large))
        room = loops.tuning.reclaimable_bytes - self.count_bytes()
        for block in large:
            room -= block.size
            if room >= 0 and block.lend():
                self.free.setdefault(block.size, []).append(block)

    def count_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(block.size for block in chain.from_iterable([*self.free.values()]))

    def clear(self) -> None:
        """Give all of it back to the system."""
        self.free, self.small, self.most, self.expected = {}, [], 0, {}

    def remember(self, tables: tuple[int, int], used: int) -> None:
        """What a call with such tables used: the next one begins with a block of that size."""
        if len(self.expected) >= SMALL_CALLS:
            self.expected = {}
        self.expected[tables] = -(-used // SMALLEST) * SMALLEST


pool = BlockPool()


class SavedRows:
    """A table of `pointers` to rows, `marks` bytes, and memory that the loops ask for on their way.

    With a `limit` (bytes in all) asking for more raises MemoryLimitError.
    """

    pool = pool  # which must outlive it when Python ends

    def __init__(self, pointers: int, marks: int, limit: int | None = None) -> None:
        self.blocks: list[Block] = []
        self.lock = Lock()  # any thread of the loops may ask
        self.tables = (pointers, marks)
        size = 8 * pointers + marks
        self.room = None if limit is None else limit - size
        first = self._take(size)
        self.addresses = (first, first + 8 * pointers)

    def __del__(self) -> None:
        used = sum(block.used for block in self.blocks)
        if used < LARGE - SMALLEST:
            self.pool.remember(self.tables, used)
        self.pool.give(self.blocks)

    def more(self, count: int) -> int:
        """The address of so many bytes; MemoryLimitError beyond the allowed room."""
        with self.lock:
            if self.room is not None:
                self.room -= count
                if self.room < 0:
                    raise MemoryLimitError
            return self._take(count)

    def _take(self, count: int) -> int:
        found = self.blocks[-1].take(count) if self.blocks else None
        if found is None:
            self.blocks.append(self.pool.take(self._next_size(count)))
            found = self.blocks[-1].take(count)
        assert found is not None  # the block was made for it
        return found

    def _next_size(self, count: int) -> int:
        """Bytes of the next block: small calls take little, large ones find blocks that fit."""
        usual = min(SMALLEST << len(self.blocks), LARGEST)
        if not self.blocks:
            usual = self.pool.expected.get(self.tables, usual)
        return usual if count <= usual else -(-count // LARGEST) * LARGEST
