"""Which states of the forward pass are saved for the gradient of the fused operator."""

import math
from typing import NamedTuple


class Checkpoints(NamedTuple):
    """What the forward pass leaves for the adjoint: node rows, and the dual at some steps."""

    every: int  # the dual is saved at steps every, 2 every, ...
    all_nodes: bool  # node rows of every step, or only those of the same steps
    num_nodes: int  # how often rows of all nodes are saved
    num_duals: int


FAST_EVERY = 4
SAVED_BYTES = 1 << 28  # that many runs side by side may take to replay nothing


def plan_checkpoints(
    steps: int,
    gradients: str,
    lean: bool,
    use_dual: bool,
    ratio: float = 2.0,
    state_bytes: int = 0,
) -> Checkpoints:
    """The memory of one call; `gradients` is one of operator/request.py's GRADIENTS.

    `ratio` is edges per node: lean mode chooses the checkpoints by what they cost. `state_bytes`
    is the size of a whole state of many runs, 0 for one run: while all fit, every dual is saved.
    """
    if gradients == "none" or not use_dual or steps == 0:
        return Checkpoints(max(steps, 1), False, 0, 0)
    every = _lean_interval(steps, ratio) if lean else FAST_EVERY
    if not lean and 0 < state_bytes * steps <= SAVED_BYTES:
        every = 1
    duals = (steps - 1) // every
    nodes = duals if lean else steps * _rows_per_step(gradients)
    return Checkpoints(every, not lean, nodes, duals)


def _rows_per_step(gradients: str) -> int:
    """Node rows that the adjoint reads of a step: Ub, and U and Q for gradients of weights too."""
    return 3 if gradients == "all" else 1


def lean_rows(steps: int, ratio: float) -> float:
    """What lean mode's checkpoints and replays take beyond the steps, in rows of all nodes."""
    return _lean_cost(_lean_interval(steps, ratio), steps, ratio) + 1  # and the replayed signal


def _lean_interval(steps: int, ratio: float) -> int:
    """Steps between checkpoints that need the least memory."""
    longest = max(10, math.isqrt(steps) + 1)  # a step is replayed from its checkpoint: not too far
    candidates = range(1, min(steps, longest) + 1)
    return min(candidates, key=lambda every: _lean_cost(every, steps, ratio))


def _lean_cost(every: int, steps: int, ratio: float) -> float:
    """A checkpoint holds 1 + ratio rows, a replayed step 1, the replayed dual `ratio`."""
    working_dual = ratio if every < steps else 0.0
    return (steps - 1) // every * (1 + ratio) + every + working_dual


def plan_device_checkpoints(steps: int, gradients: str, lean: bool) -> Checkpoints:
    """The memory of one call on a GPU: duals about every sqrt(steps)-th step.

    The rows of a segment are replayed into memory that lasts as long as the segment: saved and
    replayed together grow like the root of the steps, and node rows with the steps unless lean.
    """
    if gradients == "none" or steps == 0:
        return Checkpoints(max(steps, 1), False, 0, 0)
    every = max(FAST_EVERY, math.isqrt(steps))
    duals = (steps - 1) // every
    return Checkpoints(every, not lean, duals if lean else steps * _rows_per_step(gradients), duals)
