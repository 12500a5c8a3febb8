"""Problems that differ in lambda1 alone, solved side by side on the compiled loops.

The number of a problem, its lane, is the innermost index of every array: a step reads the graph
once for all of them, and its arithmetic is that of whole vectors.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver import native
from elasticgnn.solver.ascend import FIRST_CHECK, LONGEST_BLOCK, Outcome, Pace, Stop
from elasticgnn.solver.backends import FLOAT32_LIMIT
from elasticgnn.solver.check import Checker, Data, Look
from elasticgnn.solver.crew import Crew
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.mesh import loops
from elasticgnn.solver.minimise import Found, certify_outcome, judged, solve
from elasticgnn.solver.progress import GapProgress

LANES = 8  # as in kernels/solver.h, which a test compares

Flows = NDArray[np.float32]


def can_share(instance: Instance, rtol: float) -> bool:
    """Whether lanes serve this problem: order 0, float32, some edges, no missing values."""
    simple = len(instance.missing) == 0 and instance.num_rows > 0
    return native.is_available(instance) and simple and rtol >= FLOAT32_LIMIT


class LaneAscent:
    """An accelerated ascent per lane, in float32."""

    def __init__(self, scaled: native.Scaled) -> None:
        known = native.coefficients(scaled, scaled.stiff, scaled.center, np.float32)
        nodes, rows = scaled.mesh.num_nodes, (scaled.channels, LANES)
        self.lambda1 = np.zeros(LANES, dtype=np.float32)
        self.flow = np.zeros((scaled.mesh.num_edges, *rows), dtype=np.float32)
        self.ahead = np.zeros_like(self.flow)
        self.age = np.zeros(LANES, dtype=np.int32)
        self.arrays = (  # kept alive: the loops hold their addresses
            *(known.base, known.gain, known.step, known.weight, known.mix),
            self.lambda1,
            np.empty((nodes, *rows), dtype=np.float32),
            *(self.flow, self.ahead, self.age),
            np.empty((nodes // native.CHUNK + 1, LANES)),
            _aligned(scaled.threads * scaled.channels * LANES),
        )
        self.handle = loops().Lanes(
            scaled.mesh.handle, scaled.channels, known.stride, scaled.entrywise, *self.arrays
        )
        self.crew = Crew(scaled.threads)

    def load(self, lane: int, lambda1: float, flow: Array | None) -> None:
        """Begin another problem at a flow (m, d); None stands for 0."""
        self.lambda1[lane] = lambda1
        self.age[lane] = 0
        for rows in (self.flow, self.ahead):
            rows[..., lane] = 0 if flow is None else flow

    def advance(self, steps: int) -> None:
        self.crew.advance(steps, self._run)

    def _run(self, steps: int, threads: int) -> None:
        loops().solver_lanes(self.handle, steps, threads)

    def flow_of(self, lane: int) -> Flows:
        """V (m, d) of one lane."""
        return np.ascontiguousarray(self.flow[..., lane])


def _aligned(count: int) -> Flows:
    """Room for numbers, aligned to 64 bytes."""
    room = np.empty(count + 16, dtype=np.float32)
    first = -room.ctypes.data % 64 // 4
    return room[first : first + count]


@dataclass(frozen=True)
class Task:
    """A problem that waits for a lane."""

    place: int  # on the path
    instance: Instance
    flow: Array | None  # to begin from; None: 0
    blind_steps: int  # before the first check


class Plan(Protocol):
    """What there is to solve."""

    def next_task(self) -> Task | None:
        """A task that can begin now; None if there is none until another one is finished."""

    def finish(self, task: Task, found: Found) -> None:
        """Take the answer."""


class Lane:
    """One running problem, and when it is to be looked at."""

    def __init__(self, task: Task, scaled: native.Scaled, stop: Stop, begin: int) -> None:
        own = replace(scaled, lambda1=task.instance.lambda1)
        data = Data(own.stiff, own.center, task.instance.missing, None)
        self.task, self.stop, self.checker = task, stop, Checker(own, data, stop.rtol)
        self.begin, self.due = begin, begin + max(task.blind_steps, FIRST_CHECK // 2)
        self.steps = self.won_at = 0
        self.pace: Pace | None = None
        self.best: Look | None = None
        self.running = True

    def look(self, flow: Flows) -> None:
        """Check the flow at the step that was due, and say when to check again, if ever."""
        now, steps = self.checker.look(flow), self.due - self.begin
        if self.best is None or self.pace is None:
            self.best, self.pace = now, Pace(self.stop.rtol, now.measure, patient=True)
            self.won_at = steps
        else:
            self.pace = self.pace.after(steps - self.steps, now.measure)
        if now.measure.gap < 0.99 * self.best.measure.gap:
            self.won_at = steps
        self.best = min(self.best, now, key=lambda look: look.measure.gap)
        self.steps = steps
        self.due += self.pace.block(steps)
        stuck = steps - self.won_at > 2 * LONGEST_BLOCK
        self.running = not (stuck or self.best.measure.reaches(self.stop.rtol))

    @property
    def relative_gap(self) -> float:
        return 1.0 if self.best is None else self.best.measure.relative_gap

    def found(self) -> Found:
        """What the lane found; where float32 got stuck, what the single solver makes of it."""
        assert self.best is not None
        instance = self.task.instance
        signal = np.asarray(self.best.signal / instance.scale[:, None])
        if not self.best.measure.reaches(self.stop.rtol):
            alone = solve(instance, self.stop, (self.best.flow, signal))
            if alone.interrupted:
                raise KeyboardInterrupt
            return replace(alone, steps=self.steps + alone.steps)
        outcome = Outcome(signal, self.best.flow, self.steps)
        # where no node is scaled, the numbers are those of the check
        same = np.array_equal(signal, self.best.signal)
        measure = self.best.measure if same else certify_outcome(instance, outcome)
        return judged(instance, outcome, measure, self.stop.rtol)


def solve_lanes(plan: Plan, scaled: native.Scaled, stop: Stop) -> None:
    """Solve all that the plan has; a lane that is free takes the next task."""
    ascent, steps, lanes = LaneAscent(scaled), 0, dict[int, Lane]()
    with GapProgress(stop.rtol) as progress:
        while True:
            for number in sorted(set(range(LANES)) - set(lanes)):
                if task := plan.next_task():
                    lanes[number] = Lane(task, scaled, stop, steps)
                    ascent.load(number, task.instance.lambda1, task.flow)
            if not lanes:
                return
            due = min(lane.due for lane in lanes.values())
            ascent.advance(due - steps)
            steps = due
            for number in [number for number, lane in lanes.items() if lane.due == steps]:
                lanes[number].look(ascent.flow_of(number))
                if not lanes[number].running:
                    lane = lanes.pop(number)
                    plan.finish(lane.task, lane.found())
            progress.show(steps, max((lane.relative_gap for lane in lanes.values()), default=0.0))
