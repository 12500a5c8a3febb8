"""Which threads of this process worked on something: told by their processor time."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def threads_at_work(work: Callable[[], object], times: int = 3) -> int:
    """Threads that ran each of the `times` that `work` was done.

    Every thread of a team meets the others at the end of a loop, and so has run. Others that came
    to run by chance (a spinning pool, pytest's own) did hardly do so each time: it may be one too
    many, never one too few.
    """
    if "ELASTICGNN_TEAMS_COME_AND_GO" in os.environ:  # under scripts/sanitize.sh: uncountable
        return sys.maxsize if others_worked(work) else 1
    found = set(_seconds())
    for repeat in range(times):
        before = _seconds()
        work()
        ran = {thread for thread, spent in _seconds().items() if spent > before.get(thread, 0)}
        found = ran if repeat == 0 else found & ran
    return len(found)


def others_worked(work: Callable[[], object]) -> bool:
    """Whether a thread besides this one worked, also one that began and ended meanwhile."""
    before = time.process_time_ns() - time.thread_time_ns()
    work()
    spent = time.process_time_ns() - time.thread_time_ns() - before
    return spent > 50_000  # nanoseconds: more than reading two clocks one after the other


def _seconds() -> dict[int, int]:
    """Nanoseconds of the processor by thread; the system's clock of a thread has its number."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it ended meanwhile
            found[int(task.name)] = time.clock_gettime_ns((~int(task.name) << 3) | 6)
    return found
