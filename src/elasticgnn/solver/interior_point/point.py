"""Where the interior point method for any loss stands, and where it goes."""

from dataclasses import dataclass

from elasticgnn.solver.interior_point.cones import Cones, Move
from elasticgnn.solver.interior_point.entries import AbsoluteStep, Barrier
from elasticgnn.solver.problem.instance import Array


@dataclass(frozen=True)
class LossPoint:
    """Signal, flows and forces, and how good they are."""

    signal: Array
    low: Array  # what the signal has beyond float64, where the system is of twice the digits
    flow: Array  # (r, d) of the rows a delta
    entry_flow: tuple[Array, ...]
    force: tuple[Array, ...]
    difference: Array
    residual: Array
    objective: float
    gap: float
    slack: float  # what complementarity leaves, over all cones and bounds


@dataclass(frozen=True)
class LossDirection:
    """Where a step leads."""

    signal: Array
    low: Array
    flow: Array
    rows: Move | None
    entries: tuple[Move, ...]
    force: tuple[Array, ...]


def longest_step(
    point: LossPoint,
    cones: Cones | None,
    entries: list[AbsoluteStep],
    barriers: list[Barrier],
    move: LossDirection,
) -> float:
    """How far the direction leads before a flow, a force or a value leaves its range."""
    steps = [] if cones is None else [cones.longest_step(move.flow)]
    for one, own in zip(entries, move.entries, strict=True):
        steps.append(one.cones.longest_step(own.flow))
    for barrier, force, change in zip(barriers, point.force, move.force, strict=True):
        along = barrier.sign * move.signal.ravel()[barrier.place]
        steps.append(barrier.longest_step(barrier.room(point.signal), along))
        steps.append(barrier.longest_step(force, change))
    return min(steps, default=1.0)
