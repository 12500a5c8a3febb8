"""How much of the forward pass is kept for the gradient of the fused operator."""

import math
from typing import NamedTuple


class Keeping(NamedTuple):
    """What the forward pass leaves for the adjoint: node rows, and the dual at some steps."""

    every: int  # the dual is kept at steps every, 2 every, ...
    all_nodes: bool  # node rows of every step, or only those of the kept steps
    num_nodes_kept: int
    num_duals_kept: int


FAST_EVERY = 4
ROOMY = 1 << 28  # bytes that many runs side by side may keep to replay nothing


def plan_keeping(
    steps: int, keep: int, lean: bool, use_dual: bool, ratio: float = 2.0, state_bytes: int = 0
) -> Keeping:
    """The memory of one call; `keep` is 0 (nothing), 1 (gradient of x) or 2 (all gradients).

    `ratio` is edges per node: lean mode chooses the checkpoints by what they cost. `state_bytes`
    is the size of a whole state of many runs, 0 for one run: while all fit, every dual is kept.
    """
    if keep == 0 or not use_dual or steps == 0:
        return Keeping(max(steps, 1), False, 0, 0)
    every = _lean_interval(steps, ratio) if lean else FAST_EVERY
    if not lean and 0 < state_bytes * steps <= ROOMY:
        every = 1
    duals = (steps - 1) // every
    nodes = duals if lean else steps * (3 if keep == 2 else 1)
    return Keeping(every, not lean, nodes, duals)


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


def plan_device_keeping(steps: int, keep: int, lean: bool) -> Keeping:
    """The memory of one call on a GPU: duals about every sqrt(steps)-th step.

    The rows of a segment are replayed into memory that lasts as long as the segment: kept and
    replayed together grow like the root of the steps, and node rows with the steps unless lean.
    """
    if keep == 0 or steps == 0:
        return Keeping(max(steps, 1), False, 0, 0)
    every = max(FAST_EVERY, math.isqrt(steps))
    duals = (steps - 1) // every
    return Keeping(every, not lean, duals if lean else steps * (3 if keep == 2 else 1), duals)
