"""The fast method: accelerated dual ascent until the gap certifies."""

import math
from dataclasses import dataclass, replace

from elasticgnn.solver import native
from elasticgnn.solver.backends import Backend, NativeBackend, PlainBackend
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Measure
from elasticgnn.solver.progress import GapProgress

FIRST_CHECK = 20
LONGEST_BLOCK = 400
STEP_LIMIT = 1_000_000
NEAR = 1e3  # times the goal: so close that a few steps may do
WAIT = 0.8  # of the steps that the last rate foretells
PATIENCE = 5000  # steps without a better gap before the ascent gives up


@dataclass(frozen=True)
class Outcome:
    """Where a method stopped."""

    signal: Array  # F (n, d)
    flow: Array  # V (r, d)
    steps: int
    interrupted: bool = False  # by Ctrl-C


@dataclass(frozen=True)
class Stop:
    """When a method stops: at this relative gap, or after this many steps."""

    rtol: float
    max_steps: int | None = None
    blind_steps: int = 0  # before the first check, where a similar problem took many more

    def __post_init__(self) -> None:
        if not 0 < self.rtol < 1:
            raise ValueError(f"rtol must lie in (0, 1), got {self.rtol}")
        steps = self.max_steps
        if steps is not None and (
            isinstance(steps, bool) or not isinstance(steps, int) or steps < 0
        ):
            raise ValueError(f"max_steps must be an integer >= 0 or None, got {steps!r}")

    @property
    def last_step(self) -> int:
        return STEP_LIMIT if self.max_steps is None else self.max_steps


def make_backend(instance: Instance, flow: Array, guess: Array, rtol: float) -> Backend:
    """The compiled loops where they apply, in float32 as far as that carries."""
    if native.is_available(instance):
        return NativeBackend(instance, flow, guess, rtol=rtol)
    return PlainBackend(instance, flow, guess)


def ascend(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """Signal and flow once their gap is small enough; Ctrl-C returns the best pair so far."""
    backend = make_backend(instance, flow, guess, stop.rtol)
    steps = won_at = min(stop.blind_steps, stop.last_step)
    backend.advance(steps)
    best, interrupted = backend.look(), False
    pace = Pace(stop.rtol, best.measure, patient=not len(instance.missing))
    with GapProgress(stop.rtol) as progress:
        try:
            while not best.measure.reaches(stop.rtol) and steps < stop.last_step:
                block = min(pace.block(steps), stop.last_step - steps)
                backend.advance(block)
                steps += block
                now = backend.look()
                pace = pace.after(block, now.measure)
                won_at = steps if now.measure.gap < 0.99 * best.measure.gap else won_at
                best = min(best, now, key=lambda look: look.measure.gap)
                progress.show(steps, best.measure.relative_gap)
                if len(instance.missing):
                    backend.follow(now.raw)
                if backend.is_coarse and steps - won_at > 2 * LONGEST_BLOCK:
                    backend.sharpen()
                elif steps - won_at > max(PATIENCE, steps // 2):
                    break
        except KeyboardInterrupt:
            interrupted = True  # the best pair so far is an answer; `certified` says how good
    return Outcome(backend.export(best.signal), best.flow, steps, interrupted)


@dataclass(frozen=True)
class Pace:
    """When to check next: a check costs as much as several steps."""

    rtol: float
    measure: Measure  # of the last check
    patient: bool  # may wait for most of the way to the goal
    rate: float = 0.0  # of log(gap) per step, between the last two checks

    def after(self, steps: int, measure: Measure) -> "Pace":
        """The pace once `steps` more have led to `measure`."""
        gaps = self.measure.gap, measure.gap
        rate = math.log(gaps[0] / gaps[1]) / steps if min(gaps) > 0 else 0.0
        return replace(self, measure=measure, rate=rate)

    def block(self, steps: int) -> int:
        """Steps until the next check."""
        away = self.measure.gap / (self.rtol * self.measure.objective or 1.0)
        if self.patient and steps == 0 and away < NEAR:
            return FIRST_CHECK // 2
        share = 10 if away <= 10 else 4
        block = max(FIRST_CHECK, steps // share)
        if self.patient and self.rate > 0 and away > 1:
            block = max(
                block, min(int(WAIT * math.log(away) / self.rate), max(2 * FIRST_CHECK, steps))
            )
        return min(block, LONGEST_BLOCK)
