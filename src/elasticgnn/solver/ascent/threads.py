"""How many threads run the steps: one, or all there are."""

import time
from collections.abc import Callable

PROBE_EVERY = 6  # blocks between two trials of one thread against all
PROBE_STEPS = 4


class ThreadChoice:
    """Runs steps on one thread or on all, whichever was faster when last tried.

    Threads wait for each other twice a step: where other programs hold a core, one thread alone
    can be ten times as fast. The bits must not depend on the number.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.blocks = 0
        self.pace = {threads: 0.0}  # seconds of a step on so many threads

    def advance(self, steps: int, run: Callable[[int, int], None]) -> None:
        """Have run(steps, threads) take the steps."""
        if self.threads == 1:
            return run(steps, 1)
        probe = 0
        if steps > 2 * PROBE_STEPS and self.blocks % PROBE_EVERY == 0:
            for threads in (1, self.threads):
                self._timed(PROBE_STEPS, threads, run)
                probe += PROBE_STEPS
        self.blocks += steps > 0
        best = min(self.pace, key=lambda threads: self.pace[threads])
        return self._timed(steps - probe, best, run)

    def _timed(self, steps: int, threads: int, run: Callable[[int, int], None]) -> None:
        if steps == 0:
            return
        begin = time.perf_counter()
        run(steps, threads)
        self.pace[threads] = (time.perf_counter() - begin) / steps
