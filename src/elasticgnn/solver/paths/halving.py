"""The order in which the values of a path are solved side by side, and where each one begins.

Every other value or so begins at zero; the rest begin halfway between two solutions. A start that
lies between its neighbours is worth far more than one that lies ahead of them.
"""

import time
from dataclasses import replace

from elasticgnn.solver.ascent.native import build_scaled
from elasticgnn.solver.found import Found
from elasticgnn.solver.methods.stopping import BLIND_BETWEEN, BLIND_COLD, Stop
from elasticgnn.solver.paths.lanes import Task, solve_lanes
from elasticgnn.solver.problem.units import Prepared

WIDEST = 1.5  # ratio of two neighbours up to which the line between them is a good start


def solve_halving(problems: list[Prepared], rtol: float) -> list[Found]:
    """The solutions of problems that differ in lambda1 alone, which is > 0 and ascends."""
    begin, plan = time.perf_counter(), Halving(problems)
    solve_lanes(plan, build_scaled(problems[0].instance), Stop(rtol))
    found = [plan.found[place] for place in range(len(problems))]
    pace = (time.perf_counter() - begin) / sum(one.outcome.steps for one in found)
    return [replace(one, seconds=pace * one.outcome.steps) for one in found]


class Halving:
    """The plan: hard problems, those of large lambda1, as soon as they can begin."""

    def __init__(self, problems: list[Prepared]) -> None:
        self.problems = problems
        self.found: dict[int, Found] = {}
        self.ends = bracket_ends([one.instance.lambda1 for one in problems])
        self.waiting = sorted(self.ends, reverse=True)

    def next_task(self) -> Task | None:
        """The next strength whose neighbours are solved, None if there is none."""
        for place in self.waiting:
            if all(end in self.found for end in self.ends[place]):
                self.waiting.remove(place)
                return self._between(place) if self.ends[place] else self._cold(place)
        return None

    def finish(self, task: Task, found: Found) -> None:
        """Keeps what was found for a strength."""
        self.found[task.place] = found

    def _cold(self, place: int) -> Task:
        nearest = min(self.found, key=lambda other: abs(other - place), default=None)
        steps = 0 if nearest is None else self.found[nearest].outcome.steps
        return Task(place, self.problems[place], None, int(BLIND_COLD * steps))

    def _between(self, place: int) -> Task:
        low, high = (self.found[end] for end in self.ends[place])
        start, end = (one.prepared.instance.lambda1 for one in (low, high))
        share = (self.problems[place].instance.lambda1 - start) / (end - start)
        flow = low.outcome.flow + share * (high.outcome.flow - low.outcome.flow)
        steps = int(BLIND_BETWEEN * min(low.outcome.steps, high.outcome.steps))
        return Task(place, self.problems[place], flow, steps)


def bracket_ends(values: list[float]) -> dict[int, tuple[int, ...]]:
    """For the place of each value the two places to begin between, or none."""
    last, stride = len(values) - 1, 1
    growth = (values[-1] / values[0]) ** (1 / max(last, 1))
    while 2 * stride <= last and growth ** (2 * stride) <= WIDEST:
        stride *= 2
    ends: dict[int, tuple[int, ...]] = {place: () for place in (*range(0, last, stride), last)}
    while stride > 1:
        half = stride // 2
        ends |= {k: (k - half, min(k + half, last)) for k in range(half, last, stride)}
        stride = half
    return ends
