"""Where an optimum lies at nodes without data: what keeps the certificate valid there.

A node with c_i = 0 adds to the dual the constraint (K'V)_i = 0, which no iteration meets exactly.
The bound survives if some optimum is known to lie in a box: the node's term is then the minimum
of <., (K'V)_i> over that box.

Order 0. Clip the scaled signal U = s F to the range of the data in U, channel by channel: no
difference grows and no data term grows, so some optimum lies in that range.

Orders 1 and 2. Let P be the objective of any signal. At an optimum |F_i - X_i| <= sqrt(2P/c_i)
where there is data, and |L F| is bounded through the penalty (order 2: through its differences
along a path, as L F / s changes sign in every component). At the missing nodes U solves a
Laplace problem with these as data, and its solution is at most max |U_observed| + v max |L F / s|
for any v with (Laplacian v) >= 1 there. The box is wide, so the flow is first projected onto
(K'V)_missing = 0 (`TrendGaps.repair`), and only rounding is multiplied by it.
"""

import math

import numpy as np

from elasticgnn.solver.instance import Array, Instance
from elasticgnn.solver.measure import Bounds


def order_zero_bounds(instance: Instance) -> Bounds:
    """The range of the observed scaled signal, as a box of U at the missing nodes."""
    seen = instance.data_weight > 0
    scaled = instance.x[seen] * instance.scale[seen, None]
    shape = (len(instance.missing), instance.x.shape[1])
    return Bounds(
        np.broadcast_to(scaled.min(0), shape).copy(), np.broadcast_to(scaled.max(0), shape).copy()
    )


class TrendGaps:
    """Missing nodes under orders 1 and 2: their box, and flows without divergence there."""

    def __init__(self, instance: Instance) -> None:
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        self.instance = instance
        self.columns = instance.operator[:, instance.missing]
        self.weighted = diags_array(instance.row_weight) @ self.columns
        self.factors = splu((self.columns.T @ self.weighted).tocsc())
        self.barrier = _barrier(instance)

    def bounds(self, objective: float) -> Bounds:
        """A box of F that holds every optimum, given the objective of any signal."""
        instance = self.instance
        seen, scale = instance.data_weight > 0, instance.scale
        slack = np.sqrt(2 * objective / instance.data_weight[seen])
        edge = np.abs(scale[seen, None] * instance.x[seen]).max() + (scale[seen] * slack).max()
        source = _laplacian_bound(instance, objective) / scale[instance.missing].min()
        reach = (edge + self.barrier * source) / scale[instance.missing]
        wide = np.repeat(reach[:, None], instance.x.shape[1], axis=1)
        return Bounds(-wide, wide)

    def repair(self, flow: Array) -> Array:
        """The flow moved onto (K'V)_missing = 0 and scaled back into its ball if lambda2 = 0."""
        for _ in range(2):  # the second pass removes the rounding of the first
            flow = flow - self.weighted @ self.factors.solve(np.asarray(self.columns.T @ flow))
        instance = self.instance
        if instance.lambda2 > 0:
            return np.asarray(flow)
        size = np.abs(flow) if instance.entrywise else np.linalg.norm(flow, axis=1, keepdims=True)
        radius = instance.lambda1 * instance.row_weight[:, None]
        over = np.divide(size, radius, out=np.zeros_like(size), where=radius > 0)
        return np.asarray(flow / max(1.0, float(over.max(initial=0.0))))


def _laplacian_bound(instance: Instance, objective: float) -> float:
    """A bound of |L F| entry by entry at any signal with at most this objective."""
    weight = instance.row_weight[instance.row_weight > 0]
    if instance.order == 1:
        return _row_bound(instance, objective, 1.0)
    if not len(weight):
        return 0.0
    # |difference of s L F| along one edge, summed along a path that meets no edge twice
    if instance.lambda1 > 0:
        path = objective / (instance.lambda1 * float(weight.min()))
    else:
        path = len(weight) * _row_bound(instance, objective, float(weight.min()))
    return path / float(instance.scale.min())


def _row_bound(instance: Instance, objective: float, weight: float) -> float:
    """The largest |delta| that one row of this weight can have within the objective."""
    bounds = [math.inf]
    if instance.lambda1 > 0:
        bounds.append(objective / (instance.lambda1 * weight))
    if instance.lambda2 > 0:
        bounds.append(math.sqrt(2 * objective / (instance.lambda2 * weight)))
    return min(bounds)


def _barrier(instance: Instance) -> Array:
    """v > 0 with (plain Laplacian v) >= 1 at the missing nodes and v = 0 elsewhere."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import spsolve

    adjacency = instance.graph.to_scipy().astype(np.float64)
    laplacian = (diags_array(np.asarray(adjacency.sum(1)).ravel()) - adjacency).tocsc()
    inner = laplacian[instance.missing][:, instance.missing]
    barrier = np.atleast_1d(spsolve(inner.tocsc(), np.ones(len(instance.missing))))
    least = float((inner @ barrier).min())
    if not (least > 0.5 and barrier.min() > 0):
        raise ValueError("data_weight must leave fewer nodes missing: no bound could be computed")
    return np.asarray(barrier / least)
