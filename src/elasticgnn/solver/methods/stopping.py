"""When a method stops, and when it checks next: the rules of all methods."""

import math
from dataclasses import dataclass, replace

from elasticgnn.solver.certificate.measure import Measure
from elasticgnn.tracking.callback import Callback

FIRST_CHECK = 20
LONGEST_BLOCK = 400
STEP_LIMIT = 1_000_000
INTERIOR_LIMIT = 100  # steps of an interior point
INTERIOR_SHORTEST = 1e-7  # of a step that leads anywhere, as a share of the whole
LOSSES_LIMIT = 150  # the same of one with another loss, bounds or a lasso
LOSSES_SHORTEST = 1e-9
INTERIOR_GOAL = 0.05  # of rtol: the last steps are cheap, and flat rows become clear
RESIDUAL_SHARE = 0.01  # of the goal, for the residual at missing values
NEAR = 1e3  # times the goal: so close that a few steps may do
WAIT = 0.8  # of the steps that the last rate predicts
PATIENCE = 5000  # steps without a better gap before the ascent gives up
FLOAT32_PATIENCE = 2 * LONGEST_BLOCK  # before it changes to float64
BETTER = 0.99  # of the best gap so far: what counts as better
FIRST_PAPER_CHECK = 10  # of the paper's iteration
LONGEST_PAPER_BLOCK = 500
FINISHING_STEPS = 2000  # of an ascent that polishes what an exact method left
TRIAL_STEPS = {0: None, 1: 600, 2: 200}  # by order, before the interior point takes over
BLIND_COLD = 0.7  # no check before: of the steps of the nearest solution on a path
BLIND_BETWEEN = 0.35  # the same between two solutions, of the fewer steps of these
BLIND_AHEAD = 0.7  # and beyond the last one, of its steps
BLIND_AHEAD_FROM = 30  # steps: below, a start may well be good enough already


@dataclass(frozen=True)
class Stop:
    """When a method stops: at this relative gap, or after this many steps."""

    rtol: float
    max_steps: int | None = None
    unchecked_steps: int = 0  # before the first check, where a similar problem took many more
    callback: Callback | None = None  # called at every check of the gap

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
        """The step after which no other is taken."""
        return STEP_LIMIT if self.max_steps is None else self.max_steps

    def interior_goal(self, objective: float) -> float:
        """The gap at which an interior point is good enough."""
        return INTERIOR_GOAL * self.rtol * objective

    def ends_interior(self, objective: float, gap: float, residual: float) -> bool:
        """Whether an interior point is good enough, with this residual at missing values."""
        goal = self.interior_goal(objective)
        return gap <= goal and residual <= RESIDUAL_SHARE * goal


@dataclass
class Patience:
    """Since when no check of an ascent has brought a better gap."""

    won_at: int
    gap: float  # the best so far

    def note(self, steps: int, gap: float) -> None:
        """Take the gap of a check into account."""
        if gap < BETTER * self.gap:
            self.won_at = steps
        self.gap = min(self.gap, gap)

    def has_left_float32(self, steps: int) -> bool:
        """Whether float32 has no more digits to win."""
        return steps - self.won_at > FLOAT32_PATIENCE

    def has_ended(self, steps: int) -> bool:
        """Whether the ascent gives up."""
        return steps - self.won_at > max(PATIENCE, steps // 2)


def paper_block(steps: int) -> int:
    """Steps of the paper's iteration until its next check."""
    return min(max(FIRST_PAPER_CHECK, steps // 4), LONGEST_PAPER_BLOCK)


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
