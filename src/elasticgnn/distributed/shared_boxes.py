"""Memory that two processes of one machine share: rows need not pass through a socket.

A box belongs to one direction and to every other exchange. It begins with two numbers: that of the
exchange whose rows were written last, and that of the one whose rows were read last. Whoever writes
waits until the rows of two exchanges before were read, whoever reads until they are written; the
other process's lock tells meanwhile that it still lives.
"""

from __future__ import annotations

import mmap
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from elasticgnn.distributed.agreement import global_rank
from elasticgnn.distributed.transport import PeerFailure, talking
from elasticgnn.kernels import native as kernels

native: Any = kernels
SHARED_VARIABLE = "ELASTICGNN_SHARED_MEMORY"  # 0: rows pass through sockets on one machine too
BOXES = 4  # two directions, two exchanges
LIFE = BOXES  # the file of locks: never mapped, for closing a map would open the locks
OFFER = 256  # bytes of a message that offers boxes
LINE = 64  # bytes: the two numbers lie on cache lines of their own, the rows behind them
HEADER = 2 * LINE
LIFE_CHECK = 0.05  # seconds between two checks that the other process lives
PATIENCE = 300.0  # seconds for a process that lives and does not come, as for one behind a socket


class SharedBoxes:
    """The boxes between this process and another one of the same machine; each holds its lock."""

    def __init__(self, files: list[int], is_first: bool) -> None:
        self.files, self.is_first = files, is_first
        self.maps: list[Tensor] = [torch.empty(0, dtype=torch.uint8)] * BOXES
        self.number = 0  # of the exchange

    def next_exchange(self) -> None:
        """The boxes of the next exchange."""
        self.number += 1

    def outbox(self, size: int) -> int:
        """Address of the box that this process writes `size` bytes into, once it may."""
        box = self._box(0 if self.is_first else 1, size)
        self._await(box + LINE, self.number - 2)
        return box + HEADER

    def announce(self, address: int) -> None:
        """Says that the rows in the outbox at `address` are there."""
        native.halo_announce(address - HEADER, self.number)

    def inbox(self, size: int) -> int:
        """Address of the box that the other process writes `size` bytes into."""
        return self._box(1 if self.is_first else 0, size) + HEADER

    def await_rows(self, address: int, number: int) -> None:
        """Returns when the rows of that exchange are in the inbox at `address`."""
        self._await(address - HEADER, number)

    def release(self, address: int, number: int) -> None:
        """Says that the rows in the inbox at `address` were read."""
        native.halo_announce(address - HEADER + LINE, number)

    def _await(self, word: int, number: int) -> None:
        end = time.monotonic() + PATIENCE
        while number > 0 and not native.halo_await(word, number, LIFE_CHECK):
            if not self._other_lives():
                raise PeerFailure("connection closed by peer: its process ended")
            if time.monotonic() > end:
                raise PeerFailure(f"peer timed out: it did not come within {PATIENCE:g} s")

    def _other_lives(self) -> bool:
        """Whether the other process holds its lock: the kernel opens it when a process ends."""
        return not take_lock(self.files[LIFE], 1 if self.is_first else 0)

    def _box(self, direction: int, size: int) -> int:
        number, size = 2 * direction + self.number % 2, HEADER + size
        if len(self.maps[number]) < size:
            file = self.files[number]
            if os.fstat(file).st_size < size:  # whoever comes first makes room, for both the same
                os.ftruncate(file, size)
            self.maps[number] = torch.frombuffer(mmap.mmap(file, size), dtype=torch.uint8)
        return self.maps[number].data_ptr()

    def __del__(self) -> None:
        for file in self.files:
            os.close(file)


def take_lock(file: int, byte: int) -> bool:
    """Whether this process now holds the lock of a byte; not if another process has it."""
    import fcntl  # every system that has nameless files has it

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        return False
    return True


def share_boxes(others: Iterable[int], rank: int, group: Any) -> dict[int, SharedBoxes]:
    """Boxes with each of the other processes that is on this machine; all call it together."""
    mine = {q: make_offer() for q in others if q > rank}
    theirs = {q: torch.zeros(OFFER, dtype=torch.uint8) for q in others if q < rank}
    exchange({q: offer for q, (offer, _) in mine.items()}, theirs, group)
    opened = {q: accept_offer(offer) for q, offer in theirs.items()}
    answers = {q: torch.tensor([bool(files)], dtype=torch.uint8) for q, files in opened.items()}
    replies = {q: torch.zeros(1, dtype=torch.uint8) for q in mine}
    exchange(answers, replies, group)
    found = {q: SharedBoxes(files, is_first=False) for q, files in opened.items() if files}
    for q, (_, files) in mine.items():
        boxes = SharedBoxes(files, is_first=True)
        if bool(replies[q]):
            found[q] = boxes
    return found


def exchange(send: dict[int, Tensor], receive: dict[int, Tensor], group: Any) -> None:
    """Messages to and from other processes."""
    with talking():
        work = [dist.irecv(box, global_rank(q, group), group) for q, box in receive.items()]
        work += [dist.isend(box, global_rank(q, group), group) for q, box in send.items()]
        for one in work:
            if one is not None:
                one.wait()


def make_offer() -> tuple[Tensor, list[int]]:
    """Nameless files, and how another process of this machine finds them; nothing if it may not."""
    message, files = "", []
    if may_share():
        token = secrets.token_hex(16)
        files = [os.memfd_create(f"elasticgnn-{token}") for _ in range(BOXES + 1)]
        take_lock(files[LIFE], 0)  # before anyone asks for it
        numbers = ",".join(map(str, files))
        message = f"{os.getpid()} {token} {numbers} {network()}"
    offer = torch.zeros(OFFER, dtype=torch.uint8)
    content = torch.frombuffer(bytearray(message.encode() or b" "), dtype=torch.uint8)
    offer[: len(content)] = content
    return offer, files


def accept_offer(offer: Tensor) -> list[int]:
    """The offered files, none where they are another machine's or out of reach."""
    words = bytes(offer.tolist()).rstrip(b"\0").decode().split()
    if len(words) != 4 or words[3] != network() or not may_share():
        return []
    process, token, numbers, _ = words
    files: list[int] = []
    try:
        for number in numbers.split(","):
            path = Path(f"/proc/{process}/fd/{number}")
            if not str(path.readlink()).startswith(f"/memfd:elasticgnn-{token}"):
                raise OSError
            files.append(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        for file in files:
            os.close(file)
        return []
    take_lock(files[LIFE], 1)
    return files


def may_share() -> bool:
    """Whether this system can, and the user has not turned it off."""
    wanted = os.environ.get(SHARED_VARIABLE, "1") != "0"
    return wanted and native is not None and hasattr(os, "memfd_create")


def network() -> str:
    """The network that this process lives in: those in another one count as far away."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return "unknown"
