"""What a method hands back: a signal and a flow in the solver's units."""

from dataclasses import dataclass

import numpy as np

from elasticgnn.solver.geometry import Array


@dataclass(frozen=True)
class Outcome:
    """Where a method stopped."""

    signal: Array  # F (n, d)
    flow: Array  # V (r, d)
    steps: int
    interrupted: bool = False  # by Ctrl-C


def joined(parts: list[Outcome]) -> Outcome:
    """The outcome of channels that were solved one by one."""
    return Outcome(
        np.concatenate([part.signal for part in parts], 1),
        np.concatenate([part.flow for part in parts], 1),
        sum(part.steps for part in parts),
        any(part.interrupted for part in parts),
    )
