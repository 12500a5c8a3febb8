"""Memory that two processes of one machine share: rows need not pass through a socket.

A box belongs to one direction and to every other exchange. What is in it may be overwritten two
exchanges later: by then the reader has sent a message that it sends only after reading.
"""

from __future__ import annotations

import mmap
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

SHARED_VARIABLE = "ELASTICGNN_SHARED_MEMORY"  # 0: rows pass through sockets on one machine too
BOXES = 4  # two directions, two exchanges
OFFER = 256  # bytes of a message that offers boxes


class SharedBoxes:
    """The boxes between this process and another one of the same machine."""

    def __init__(self, files: list[int], is_first: bool) -> None:
        self.files, self.is_first = files, is_first
        self.maps: list[Tensor] = [torch.empty(0, dtype=torch.uint8)] * BOXES
        self.turn = 0

    def next_turn(self) -> None:
        """The boxes of the next exchange."""
        self.turn = 1 - self.turn

    def outbox(self, size: int) -> int:
        """Address of the box that this process writes `size` bytes into."""
        return self._address(0 if self.is_first else 1, size)

    def inbox(self, size: int) -> int:
        """Address of the box that the other process writes `size` bytes into."""
        return self._address(1 if self.is_first else 0, size)

    def _address(self, direction: int, size: int) -> int:
        number = 2 * direction + self.turn
        if len(self.maps[number]) < size:
            file = self.files[number]
            if os.fstat(file).st_size < size:  # whoever comes first makes room, for both the same
                os.ftruncate(file, size)
            self.maps[number] = torch.frombuffer(mmap.mmap(file, size), dtype=torch.uint8)
        return self.maps[number].data_ptr()

    def __del__(self) -> None:
        for file in self.files:
            os.close(file)


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
    work = [dist.irecv(box, q, group) for q, box in receive.items()]
    work += [dist.isend(box, q, group) for q, box in send.items()]
    for one in work:
        if one is not None:
            one.wait()


def make_offer() -> tuple[Tensor, list[int]]:
    """Nameless files, and how another process of this machine finds them; nothing if it may not."""
    message, files = "", []
    if hasattr(os, "memfd_create") and os.environ.get(SHARED_VARIABLE, "1") != "0":
        token = secrets.token_hex(16)
        files = [os.memfd_create(f"elasticgnn-{token}") for _ in range(BOXES)]
        numbers = ",".join(map(str, files))
        message = f"{os.getpid()} {token} {numbers} {network()}"
    offer = torch.zeros(OFFER, dtype=torch.uint8)
    content = torch.frombuffer(bytearray(message.encode() or b" "), dtype=torch.uint8)
    offer[: len(content)] = content
    return offer, files


def accept_offer(offer: Tensor) -> list[int]:
    """The offered files, none where they are another machine's or out of reach."""
    words = bytes(offer.tolist()).rstrip(b"\0").decode().split()
    if len(words) != 4 or words[3] != network() or os.environ.get(SHARED_VARIABLE, "1") == "0":
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
    return files


def network() -> str:
    """The network that this process lives in: those in another one count as far away."""
    try:
        return str(Path("/proc/self/ns/net").readlink())
    except OSError:
        return "unknown"
