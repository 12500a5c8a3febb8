"""Which claims are held by a process that no longer exists."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def worker_identity() -> dict[str, Any]:
    """This process: host, number, and the moment it started (numbers are used again)."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "start": start_of(os.getpid())}


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
    seen: dict[int, tuple[Any, float]] = field(default_factory=dict)

    def is_dead(self, number: int, attributes: dict[str, Any]) -> bool:
        """Whether the holder of trial `number` is gone, or silent for longer than `grace`."""
        worker = attributes.get("worker")
        if worker and worker["host"] == socket.gethostname():
            return start_of(worker["pid"]) != worker["start"]
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
            beat(count)

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
