"""Problems that differ in lambda1 alone, solved side by side on the compiled loops.

The number of a problem, its lane, is the innermost index of every array: a step reads the graph
once for all of them, and its arithmetic is that of whole vectors.
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.ascent import native
from elasticgnn.solver.ascent.backends import FLOAT32_LIMIT
from elasticgnn.solver.ascent.check import Check, Checker, Data
from elasticgnn.solver.ascent.threads import ThreadChoice
from elasticgnn.solver.found import Found, with_verdict
from elasticgnn.solver.methods.choice import Choice
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.methods.stopping import FIRST_CHECK, Pace, Patience, Stop
from elasticgnn.solver.minimise import solve
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.mesh import loops
from elasticgnn.solver.problem.units import Prepared

ASCENTS = 8  # as in kernels/solver/problem.h, which a test compares

SIDE_BY_SIDE = Choice("ascent", "order 0 on a graph with cycles: several strengths side by side")
Flows = NDArray[np.float32]


def can_share(instance: Instance, rtol: float) -> bool:
    """Whether lanes serve this problem: order 0, float32, some edges, no missing values."""
    simple = len(instance.missing) == 0 and instance.num_rows > 0
    return native.is_available(instance) and simple and rtol >= FLOAT32_LIMIT


class LaneAscent:
    """An accelerated ascent per lane, in float32."""

    def __init__(self, scaled: native.Scaled) -> None:
        known = native.coefficients(scaled, scaled.stiff, scaled.center, np.float32)
        nodes, rows = scaled.mesh.num_nodes, (scaled.channels, ASCENTS)
        self.lambda1 = np.zeros(ASCENTS, dtype=np.float32)
        self.flow = np.zeros((scaled.mesh.num_edges, *rows), dtype=np.float32)
        self.ahead = np.zeros_like(self.flow)
        self.age = np.zeros(ASCENTS, dtype=np.int32)
        self.arrays = (  # kept alive: the loops hold their addresses
            *(known.base, known.gain, known.step, known.weight, known.mix),
            self.lambda1,
            np.empty((nodes, *rows), dtype=np.float32),
            *(self.flow, self.ahead, self.age),
            np.empty((nodes // native.CHUNK + 1, ASCENTS)),
            _aligned(scaled.threads * scaled.channels * ASCENTS),
        )
        self.handle = loops().Ascents(
            scaled.mesh.handle, scaled.channels, known.stride, scaled.entrywise, *self.arrays
        )
        self.thread_choice = ThreadChoice(scaled.threads)

    def load(self, lane: int, lambda1: float, flow: Array | None) -> None:
        """Begin another problem at a flow (m, d); None stands for 0."""
        self.lambda1[lane] = lambda1
        self.age[lane] = 0
        for rows in (self.flow, self.ahead):
            rows[..., lane] = 0 if flow is None else flow

    def advance(self, steps: int) -> None:
        """Takes so many steps in all lanes."""
        self.thread_choice.advance(steps, self._run)

    def _run(self, steps: int, threads: int) -> None:
        loops().solver_ascents(self.handle, steps, threads)

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
    prepared: Prepared
    flow: Array | None  # to begin from; None: 0
    unchecked_steps: int  # before the first check

    @property
    def instance(self) -> Instance:
        """The problem in the solver's units."""
        return self.prepared.instance


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
        self.begin, self.due = begin, begin + max(task.unchecked_steps, FIRST_CHECK // 2)
        self.steps = 0
        self.pace: Pace | None = None
        self.patience = Patience(0, math.inf)
        self.best: Check | None = None
        self.running = True

    def check(self, flow: Flows) -> None:
        """Check the flow at the step that was due, and say when to check again, if ever."""
        now, steps = self.checker.check(flow), self.due - self.begin
        if self.best is None or self.pace is None:
            self.best, self.pace = now, Pace(self.stop.rtol, now.measure, patient=True)
            self.patience = Patience(steps, now.measure.gap)
        else:
            self.pace = self.pace.after(steps - self.steps, now.measure)
        self.patience.note(steps, now.measure.gap)
        self.best = min(self.best, now, key=lambda check: check.measure.gap)
        self.steps = steps
        self.due += self.pace.block(steps)
        stuck = self.patience.has_left_float32(steps)
        self.running = not (stuck or self.best.measure.is_final(self.stop.rtol))

    @property
    def relative_gap(self) -> float:
        """The best relative gap so far, 1 before the first."""
        return 1.0 if self.best is None else self.best.measure.relative_gap

    def found(self) -> Found:
        """What the lane found; where float32 got stuck, what the single solver makes of it."""
        assert self.best is not None
        instance = self.task.instance
        signal = np.asarray(self.best.signal / instance.scale[:, None])
        if not self.best.measure.is_final(self.stop.rtol):
            guess = (self.best.flow, signal)
            alone = solve(self.task.prepared, self.stop, guess, "ascent")
            if alone.outcome.interrupted:
                raise KeyboardInterrupt
            steps = self.steps + alone.outcome.steps
            return replace(alone, outcome=replace(alone.outcome, steps=steps))
        outcome = Outcome(signal, self.best.flow, self.steps)
        return with_verdict(self.task.prepared, outcome, self.stop.rtol, SIDE_BY_SIDE)


def solve_lanes(plan: Plan, scaled: native.Scaled, stop: Stop) -> None:
    """Solve all that the plan has; a lane that is free takes the next task."""
    ascent, steps, lanes = LaneAscent(scaled), 0, dict[int, Lane]()
    with GapProgress(stop.rtol, stop.callback) as progress:
        while True:
            for number in sorted(set(range(ASCENTS)) - set(lanes)):
                if task := plan.next_task():
                    lanes[number] = Lane(task, scaled, stop, steps)
                    ascent.load(number, task.instance.lambda1, task.flow)
            if not lanes:
                return
            due = min(lane.due for lane in lanes.values())
            ascent.advance(due - steps)
            steps = due
            for number in [number for number, lane in lanes.items() if lane.due == steps]:
                lanes[number].check(ascent.flow_of(number))
                if not lanes[number].running:
                    lane = lanes.pop(number)
                    plan.finish(lane.task, lane.found())
            progress.show(steps, max((lane.relative_gap for lane in lanes.values()), default=0.0))
