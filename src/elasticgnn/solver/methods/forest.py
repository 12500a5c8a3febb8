"""Order 0 on forests, one channel or "l1": the exact minimiser by dynamic programming.

kernels/solver/forest.h; O(n log n), on chains O(n), for any weights, strengths and missing values.
"""

import numpy as np

from elasticgnn.kernels import native
from elasticgnn.solver.methods.outcome import Outcome, joined
from elasticgnn.solver.methods.stopping import Stop
from elasticgnn.solver.pieces.flatten import component_means
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.mesh import loops


def refusal(instance: Instance) -> str | None:
    """Why the dynamic programme cannot serve this problem; None if it can."""
    if native is None:
        return "the compiled loops are not installed"
    if not instance.is_plain:
        return f"order is {instance.order}, not 0" if instance.order else "the boundary is free"
    if instance.terms is not None:
        return f"the loss is {instance.terms.loss.name!r}, or there are bounds or a lasso"
    if not instance.entrywise:
        return "channels interact (norm l21)"
    if instance.lambda2 > 0:
        return "lambda2 > 0"
    if not instance.geometry.is_forest:
        return "the graph has cycles"
    return None


def solve_forest(instance: Instance, stop: Stop, flow: Array, guess: Array) -> Outcome:
    """The minimiser and its flow; nothing is iterated, so stop, flow and guess are not used."""
    if instance.channel_strength is not None:
        channels = [instance.channel(k) for k in range(instance.x.shape[1])]
        return joined([solve_forest(one, stop, flow, guess) for one in channels])
    del stop, flow, guess
    if instance.lambda1 == 0:  # the data to the last digit, and no flow
        signal = np.where(instance.is_missing, component_means(instance), instance.x)
        return Outcome(signal, np.zeros((instance.num_rows, signal.shape[1])), 1)
    rooted, scale = instance.geometry.rooting, instance.scale
    total = float((instance.data_weight * np.abs(instance.x)).sum() / scale.min(initial=1.0))
    # no flow of a forest exceeds the sum of what its data can send
    up = np.minimum(instance.lambda1 * rooted.weight, 4 * total)
    nodes, channels = instance.x.shape
    signal, flow = np.empty_like(instance.x), np.zeros((instance.num_rows, channels))
    plain = instance.geometry.unscaled
    for k in range(channels):
        stiff, center = instance.data_weight[rooted.order, k], instance.x[rooted.order, k]
        if not plain:
            stiff, center = stiff / rooted.scale**2, center * rooted.scale
        value, sent = np.empty(nodes), np.empty(nodes)
        loops().forest_solve(len(rooted.parent), rooted.parent, up, stiff, center, value, sent)
        signal[rooted.order, k] = value if plain else value / rooted.scale
        flow[rooted.edge, k] = rooted.sign * sent[rooted.child]
    return Outcome(signal, flow, 1)
