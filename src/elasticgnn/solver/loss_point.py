"""Where the interior point method for any loss stands, and where it goes."""

from dataclasses import dataclass

from elasticgnn.solver.cones import Move
from elasticgnn.solver.instance import Array


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
