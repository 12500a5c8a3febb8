"""Which claims are held by a process that no longer exists."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def worker_identity(token: str = "") -> dict[str, Any]:
    """This process: host, number, the moment it started (numbers are used again), its worker."""
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "start": start_of(pid), "token": token}


def start_of(pid: int) -> str:
    """The start time of a living process in clock ticks, "" if there is none of that number."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    state, *rest = text.rpartition(")")[2].split()
    return "" if state == "Z" else rest[18]


@dataclass
class Watch:
    """Remembers since when each foreign claim has shown no sign of life.

    Silence is measured on the watcher's own clock, so machines need not agree on the time.
    """

    grace: float = 600.0
    token: str = field(default_factory=lambda: secrets.token_hex(8))  # of this worker alone
    seen: dict[int, tuple[Any, float]] = field(default_factory=dict)

    def is_dead(self, number: int, attributes: dict[str, Any]) -> bool:
        """Whether the holder of trial `number` is gone, or silent for longer than `grace`."""
        worker = attributes.get("worker")
        if worker and worker["host"] == socket.gethostname():
            # an earlier worker of this very process ended with an error: it holds nothing any more
            ended = worker["pid"] == os.getpid() and worker.get("token", "") != self.token
            return ended or start_of(worker["pid"]) != worker["start"]
        sign = attributes.get("beat")
        now = time.monotonic()
        last, since = self.seen.get(number, (None, now))
        if number not in self.seen or last != sign:
            self.seen[number] = (sign, now)
            return False
        return now - since > self.grace


@contextmanager
def beating(beat: Callable[[int], None], interval: float = 60.0) -> Iterator[None]:
    """Calls `beat` with 1, 2, ... every `interval` seconds while the body runs."""
    done = threading.Event()

    def loop() -> None:
        count = 0
        while not done.wait(interval):
            count += 1
            with suppress(Exception):  # whatever it is, the next reported result meets it too
                beat(count)

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
