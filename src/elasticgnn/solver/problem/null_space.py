"""Signals without any difference: constants of s F, and polynomials where a chain's ends are free.

An iteration leaves differences of some 1e-10 in rows that are zero at the optimum. A strength far
beyond what makes them zero multiplies these, so that the answer has to have none at all.
"""

import numpy as np
from numpy.polynomial.legendre import legvander

from elasticgnn.graph.chains import chain_order
from elasticgnn.solver.problem.instance import Array, Instance


def without_rows(instance: Instance, signal: Array, weight: Array) -> Array:
    """The nearest signal whose differences are all zero, entries counting by `weight` (n, d)."""
    if instance.geometry.boundary == "free":
        return _polynomials(instance, signal, weight)
    return component_constants(instance, signal, weight)


def component_constants(instance: Instance, signal: Array, weight: Array) -> Array:
    """The mean of s F over each component, in every channel."""
    scale, labels = instance.scale[:, None], instance.geometry.component
    scaled, heavy, out = signal * scale, weight / scale**2, np.empty_like(signal)
    for k in range(signal.shape[1]):
        sums = np.bincount(labels, heavy[:, k] * scaled[:, k])
        out[:, k] = (sums / np.bincount(labels, heavy[:, k]))[labels]
    return np.asarray(out / scale)


def _polynomials(instance: Instance, signal: Array, weight: Array) -> Array:
    """Least squares on every chain that is long enough to have a difference."""
    out, order = signal.copy(), instance.order
    for nodes in chain_order(instance.graph):
        if len(nodes) < order + 2:
            continue
        basis = legvander(np.linspace(-1.0, 1.0, len(nodes)), order)
        for k in range(signal.shape[1]):
            root = np.sqrt(weight[nodes, k])
            target = root * signal[nodes, k]
            out[nodes, k] = basis @ np.linalg.lstsq(root[:, None] * basis, target, rcond=None)[0]
    return out
