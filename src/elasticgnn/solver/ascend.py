"""The fast method: accelerated dual ascent until the gap certifies."""

from dataclasses import dataclass

from elasticgnn.solver import native
from elasticgnn.solver.backends import Backend, NativeBackend, PlainBackend
from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Measure
from elasticgnn.solver.progress import GapProgress

FIRST_CHECK = 20
LONGEST_BLOCK = 400
STEP_LIMIT = 1_000_000
PATIENCE = 5000  # steps without a better gap before the ascent gives up


@dataclass(frozen=True)
class Outcome:
    """Where a method stopped."""

    signal: Array  # F (n, d)
    flow: Array  # V (r, d)
    steps: int


@dataclass(frozen=True)
class Stop:
    """When a method stops: at this relative gap, or after this many steps."""

    rtol: float
    max_steps: int | None = None

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
    best, steps, won_at = backend.look(), 0, 0
    with GapProgress(stop.rtol) as progress:
        try:
            while not best.measure.reaches(stop.rtol) and steps < stop.last_step:
                block = min(_block(steps, best.measure, stop.rtol), stop.last_step - steps)
                backend.advance(block)
                steps += block
                now = backend.look()
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
            pass  # the best pair so far is an answer; `certified` says how good
    return Outcome(backend.export(best.signal), best.flow, steps)


def _block(steps: int, measure: Measure, rtol: float) -> int:
    """Steps until the next check: a share of those done, smaller in sight of the end."""
    share = 10 if measure.gap <= 10 * rtol * measure.objective else 4
    return min(max(FIRST_CHECK, steps // share), LONGEST_BLOCK)
