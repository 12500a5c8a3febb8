"""How far a study is, and how long it will take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Progress:
    """Counts finished trainings; the rate is that of this session alone."""

    total: int
    done_before: int = 0
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """Remaining trainings at the pace so far, None before the first has finished."""
        fresh = self.done - self.done_before
        if fresh <= 0:
            return None
        return (time.monotonic() - self.began) / fresh * max(self.total - self.done, 0)

    def line(self, what: str) -> str:
        """Trainings done, time left and what is being done, in one line."""
        left = self.seconds_left()
        ahead = "" if left is None else f", {duration(left)} left"
        return f"{self.done}/{self.total} trainings{ahead} · {what}"


def duration(seconds: float) -> str:
    """About how long, in the largest sensible unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
