"""Which threads of this process worked on something: told by their processor time."""

import time
from collections.abc import Callable
from pathlib import Path


def threads_at_work(work: Callable[[], object], times: int = 3) -> int:
    """Threads that ran each of the `times` that `work` was done.

    Every thread of a team meets the others at the end of a loop, and so has run. Others that came
    to run by chance (a spinning pool, pytest's own) did hardly do so each time: it may be one too
    many, never one too few.
    """
    found = set(_seconds())
    for turn in range(times):
        before = _seconds()
        work()
        ran = {thread for thread, spent in _seconds().items() if spent > before.get(thread, 0)}
        found = ran if turn == 0 else found & ran
    return len(found)


def others_worked(work: Callable[[], object]) -> bool:
    """Whether a thread besides this one worked, also one that began and ended meanwhile."""
    before = time.process_time_ns() - time.thread_time_ns()
    work()
    return time.process_time_ns() - time.thread_time_ns() > before


def _seconds() -> dict[int, int]:
    """Nanoseconds of the processor by thread; the system's clock of a thread has its number."""
    numbers = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    return {number: time.clock_gettime_ns((~number << 3) | 6) for number in numbers}
