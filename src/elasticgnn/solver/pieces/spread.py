"""How large differences usually are: what "nearly zero" is measured against.

The largest difference of the answer itself does not serve: of a flat answer it is rounding, or
what an iteration has left, and some row would always count as a jump.
"""

import numpy as np

from elasticgnn.solver.problem.instance import Array, Instance


@np.errstate(over="ignore")
def usual_rows(instance: Instance) -> Array:
    """The length of a row that crosses the data from end to end: (1 or r, 1 or d)."""
    if instance.is_plain:
        size = 2 * _spread(instance, instance.scale)[None] * instance.channel_factor
    else:
        reach = np.asarray(abs(instance.operator).sum(1)).reshape(-1, 1)
        size = reach * _spread(instance, np.ones(len(instance.x))) * instance.channel_factor
    size = np.clip(size, np.finfo(np.float64).tiny, np.finfo(np.float64).max)
    if instance.entrywise:
        return size
    largest = size.max(1, keepdims=True)  # whose square may leave the range of float64
    return np.asarray(largest * np.linalg.norm(size / largest, axis=1, keepdims=True))


@np.errstate(over="ignore")
def _spread(instance: Instance, scale: Array) -> Array:
    """(d,): half of what lies between the ends of the data, or of where the loss begins."""
    start = instance.x if instance.terms is None else instance.terms.loss.start(instance.x)
    rows, seen = start * scale[:, None], ~(instance.is_missing | instance.unobserved)
    high = rows.max(0, where=seen, initial=-np.inf)
    low = rows.min(0, where=seen, initial=np.inf)
    spread = np.maximum(high / 2 - low / 2, 0.0)
    if instance.terms is None:
        return np.asarray(spread)
    # equal data spread over nothing: their size, or 1 for log odds and log rates, is usual then
    size = np.abs(rows).max(0, where=seen, initial=0.0) if instance.terms.loss.power else 1.0
    return np.asarray(np.where(spread > 0, spread, size))
