"""What a method hands back: a signal and a flow in the solver's units."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from elasticgnn.solver.problem.geometry import Array
from elasticgnn.solver.problem.units import Units

Settle = Callable[[Units], Array]


@dataclass(frozen=True)
class Outcome:
    """Where a method stopped."""

    signal: Array  # F (n, d)
    flow: Array  # V (r, d)
    steps: int
    interrupted: bool = False  # by Ctrl-C
    settle: Settle | None = None  # the signal in numbers that the user's units have, if it knows


def joined(parts: list[Outcome]) -> Outcome:
    """The outcome of channels that were solved one by one."""
    return Outcome(
        np.concatenate([part.signal for part in parts], 1),
        np.concatenate([part.flow for part in parts], 1),
        sum(part.steps for part in parts),
        any(part.interrupted for part in parts),
        _joined_settle([part.settle for part in parts]),
    )


def _joined_settle(parts: list[Settle | None]) -> Settle | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None

    def settle(units: Units) -> Array:
        own = [replace(units, shift=units.shift[:, k : k + 1]) for k in range(len(known))]
        return np.concatenate([one(unit) for one, unit in zip(known, own, strict=True)], 1)

    return known[0] if len(known) == 1 else settle
