"""Entries that rest on a corner of the loss, on 0 or on a bound, put there exactly.

Of a point near the optimum the room that is left and the force against it are both small or not:
the larger one, each as a share of what is usual, says which one is zero.
"""

from collections.abc import Iterable

import numpy as np

from elasticgnn.solver.interior_point.entries import AbsoluteValue, Barrier
from elasticgnn.solver.interior_point.start import usual_slope
from elasticgnn.solver.pieces.flatten import merged
from elasticgnn.solver.problem.instance import Array, Instance

TINY = 1e-300


def snapped(
    instance: Instance,
    signal: Array,
    flow: Array,
    entries: Iterable[tuple[AbsoluteValue, Array]],
    bounds: Iterable[tuple[Barrier, Array]],
) -> Array:
    """The signal with entries on their corners and pieces of one value.

    `entries` and `bounds` come with their flows and forces. The mean of a piece may leave a bound
    by its rounding, which every answer is brought back from (Prepared.as_held).
    """
    terms, out = instance.terms, signal.ravel().copy()
    assert terms is not None
    span = float(np.abs(terms.loss.start(instance.x)).max(initial=0.0))
    for term, own in entries:
        away = np.abs(term.difference(signal, own)[:, 0])
        room = 1 - np.abs(own[:, 0]) / term.radius
        rests = (room > away / _at_least(away, span)) & (term.softness == 0)
        out[term.place[rests]] = term.offset[rests]
    slope = usual_slope(instance, span)
    for barrier, own in bounds:
        left = barrier.room(signal)
        rests = own / _at_least(own, slope) > left / _at_least(left, span)
        out[barrier.place[rests]] = barrier.at[rests]
    held = (out != signal.ravel()).reshape(signal.shape)
    return merged(instance, out.reshape(signal.shape), flow, held)


def _at_least(values: Array, usual: float) -> float:
    """The largest of the values or what is usual: where all rest, none is a share of 1."""
    return max(float(values.max(initial=0.0)), usual, TINY)
