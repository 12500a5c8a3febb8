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
for any v with (Laplacian v) >= 1 there. The box is wide: a method must leave no more than rounding
of (K'V)_missing (`FlowRepair`), and only that is multiplied by it. Free boundary: the missing
values solve K_m F_m = delta - K_o F_o, so |F_m| <= |right side| / (least singular value of K_m).
That value is the only number here that is estimated (power method, doubled) and not bounded.
"""

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.solver.linear_algebra.fill import FactorTooLargeError, check_matrix, check_product
from elasticgnn.solver.problem.instance import Array, Instance
from elasticgnn.solver.problem.node_terms import Bounds

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import SuperLU

POWER_STEPS = 40


def order_zero_bounds(instance: Instance) -> Bounds:
    """The range of each channel's scaled data in U, as a box of U: (n, d) each."""
    scaled = instance.x * instance.scale[:, None]
    low = np.where(instance.is_missing, np.inf, scaled).min(0)
    high = np.where(instance.is_missing, -np.inf, scaled).max(0)
    return Bounds(np.broadcast_to(low, scaled.shape), np.broadcast_to(high, scaled.shape))


class SignalBox:
    """Boxes of F that hold an optimum where values are missing."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        free = instance.geometry.boundary == "free"
        self.barriers = _barriers(instance) if instance.order > 0 and not free else None
        self.reaches = _free_reaches(instance) if free else None

    def bounds(self, objective: float, ends: Array | None = None) -> Bounds:
        """The box, given the objective of any signal.

        `ends` (n, d) bounds |F| where there are data; by the squared loss unless given.
        """
        instance = self.instance
        if self.reaches is not None:
            wide = np.zeros_like(instance.x)
            for k, reach in enumerate(self.reaches):
                known = None if ends is None else ends[:, k]
                wide[:, k] = reach * _free_source(instance, k, objective, known)
            return Bounds(-wide, wide)
        if self.barriers is None:
            box, scale = order_zero_bounds(instance), instance.scale[:, None]
            return Bounds(box.low / scale, box.high / scale)
        if instance.lambda1 == instance.lambda2 == 0:
            return Bounds(instance.x, instance.x)  # no penalty, no flow: they add nothing
        wide = np.zeros_like(instance.x)
        for k, barrier in enumerate(self.barriers):
            wide[:, k] = self._reach(k, barrier, objective, None if ends is None else ends[:, k])
        return Bounds(-wide, wide)

    def _reach(self, k: int, barrier: Array, objective: float, ends: Array | None) -> Array:
        instance, scale = self.instance, self.instance.scale
        weight, column = instance.data_weight[:, k], instance.x[:, k]
        seen = weight > 0
        if ends is None:
            slack = np.sqrt(2 * objective / weight[seen])
            edge = np.abs(scale[seen] * column[seen]).max() + (scale[seen] * slack).max()
        else:
            edge = (scale[seen] * ends[seen]).max()
        source = laplacian_bound(instance, objective) / scale.min()
        return np.asarray((edge + barrier * source) / scale)


class FlowRepair:
    """Moves flows onto (K'V)_missing = 0, where a method does not come close to it by itself."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        needed = len(instance.missing) > 0 and not instance.is_plain
        self.channels = range(instance.x.shape[1]) if needed else range(0)
        self.parts = [self._part(k) for k in self.channels]

    def _part(self, k: int) -> "tuple[NDArray[np.intp], SuperLU | None]":
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        nodes = np.flatnonzero(self.instance.is_missing[:, k])
        columns = self.instance.operator[:, nodes]
        try:
            check_product(columns)
            normal = columns.T @ diags_array(self.instance.row_weight) @ columns
            check_matrix(normal)
            return nodes, splu(normal.tocsc()) if len(nodes) else None
        except (RuntimeError, FactorTooLargeError):  # singular to rounding, or too large
            return nodes, None  # the flow stays, and its gap says so

    def __call__(self, flow: Array) -> Array:
        """The flow without divergence where values are missing, inside its ball if lambda2 = 0."""
        instance = self.instance
        if not self.parts:
            return flow
        flow, omega = flow.copy(), instance.row_weight
        for k, (nodes, factors) in zip(self.channels, self.parts, strict=True):
            if factors is None:
                continue
            columns = instance.operator[:, nodes]
            for _ in range(2):  # the second removes rounding
                flow[:, k] -= omega * (columns @ factors.solve(columns.T @ flow[:, k]))
        if instance.lambda2 > 0:
            return flow
        size = np.abs(flow) if instance.entrywise else np.linalg.norm(flow, axis=1, keepdims=True)
        radius = instance.lambda1 * omega[:, None]
        over = np.divide(size, radius, out=np.zeros_like(size), where=radius > 0)
        return np.asarray(flow / max(1.0, float(over.max(initial=0.0))))


def laplacian_bound(instance: Instance, objective: float) -> float:
    """A bound of |L F| entry by entry at any signal with at most this objective."""
    weight = instance.row_weight[instance.row_weight > 0]
    if not len(weight):
        return 0.0
    if instance.order == 1:
        return row_bound(instance, objective, float(weight.min()))
    return edge_path_bound(instance, objective) / float(instance.scale.min())


def edge_path_bound(instance: Instance, objective: float) -> float:
    """A bound of the sum of |delta| along a path that meets no row twice."""
    least = float(instance.row_weight[instance.row_weight > 0].min())
    bounds = [instance.num_rows * row_bound(instance, objective, least)]
    if instance.lambda1 > 0:
        bounds.append(objective / (instance.lambda1 * least * instance.least_channel_factor))
    return min(bounds)


def row_bound(instance: Instance, objective: float, weight: float) -> float:
    """The largest |delta| that one row of this weight can have within the objective."""
    bounds = [math.inf]
    if instance.lambda1 > 0:
        bounds.append(objective / (instance.lambda1 * weight))
    if instance.lambda2 > 0:
        bounds.append(math.sqrt(2 * objective / (instance.lambda2 * weight)))
    return min(bounds) / instance.least_channel_factor


def _barriers(instance: Instance) -> list[Array]:
    """Per channel v >= 0 with (plain Laplacian v) >= 1 where values are missing, 0 elsewhere."""
    from scipy.sparse import diags_array

    adjacency = instance.graph.to_scipy().astype(np.float64)
    laplacian = (diags_array(np.asarray(adjacency.sum(1)).ravel()) - adjacency).tocsr()
    known: dict[bytes, Array] = {}
    for mask in instance.is_missing.T:
        if mask.tobytes() not in known:
            known[mask.tobytes()] = _barrier(laplacian, mask)
    return [known[mask.tobytes()] for mask in instance.is_missing.T]


def _barrier(laplacian: "csr_array", mask: NDArray[np.bool_]) -> Array:
    """The barrier of one set of nodes; inf where none could be computed."""
    nodes, out = np.flatnonzero(mask), np.zeros(len(mask))
    if not len(nodes):
        return out
    inner = laplacian[nodes][:, nodes]
    barrier = _torsion(inner)
    # what rounding can hide in the product
    noise = 1e-15 * float(np.max(abs(inner) @ np.abs(barrier)))
    least = float((inner @ barrier).min()) - noise
    good = np.isfinite(least) and least > 0 and barrier.min() > 0
    out[nodes] = barrier / least if good else np.inf
    return out


def _torsion(inner: "csr_array") -> Array:
    """v with (inner v) = 1, or nearly so: what it really has is looked at by the caller."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import MatrixRankWarning, cg, spsolve

    ones = np.ones(inner.shape[0])
    try:
        check_matrix(inner)
    except FactorTooLargeError:
        diagonal = diags_array(1 / inner.diagonal())
        return np.asarray(cg(inner, ones, rtol=1e-6, maxiter=1000, M=diagonal)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)
        return np.atleast_1d(spsolve(inner.tocsc(), ones))


def _free_reaches(instance: Instance) -> list[float]:
    """Per channel an estimate from above of 1 / the least singular value of K's missing columns."""
    from scipy.sparse.linalg import splu

    out = []
    for mask in instance.is_missing.T:
        columns = instance.operator[:, np.flatnonzero(mask)]
        try:
            factors = splu((columns.T @ columns).tocsc()) if mask.any() else None
        except RuntimeError:  # too few values to fix a polynomial: no box, no certificate
            out.append(math.inf)
            continue
        out.append(math.sqrt(_largest_inverse(factors, int(mask.sum()))) if factors else 0.0)
    return out


def _largest_inverse(factors: "SuperLU", size: int) -> float:
    """Twice the largest eigenvalue of an inverse, by the power method."""
    vector, value = np.ones(size) / math.sqrt(size), 0.0
    for _ in range(POWER_STEPS):
        vector = factors.solve(vector)
        value = float(np.linalg.norm(vector))
        vector /= value
    return 2 * value


def _free_source(instance: Instance, k: int, objective: float, ends: Array | None) -> float:
    """A bound of |delta| + |K F| of the observed values, both Euclidean."""
    seen = ~instance.is_missing[:, k]
    weight, column = instance.data_weight[seen, k], instance.x[seen, k]
    if ends is None:
        values = float(np.linalg.norm(column)) + math.sqrt(2 * objective / float(weight.min()))
    else:
        values = float(np.linalg.norm(ends[seen]))
    least = float(instance.row_weight.min(initial=1.0))
    rows = math.sqrt(instance.num_rows) * row_bound(instance, objective, least)
    return 2.0 ** (instance.order + 1) * values + rows
