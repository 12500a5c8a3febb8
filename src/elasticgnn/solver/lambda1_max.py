"""The smallest lambda1 at which every component of the solution is flat (up to degree scaling).

With h = c / s^2, b = s X, m the weighted mean of b in each component and r = h (b - m), the flat
signal is optimal exactly if some flow with divergence r keeps |V_e| <= lambda1 w_e. So

    lambda1_max = max over U of <r, U> / sum_e w_e |U_i - U_j|
                = min over such flows of the largest |V_e| / w_e

and any U gives a lower, any flow an upper end. Newton's method on the ratio (Dinkelbach): solve at
the present lower end, read the next one off the solution. For "l1" the best ratio is that of a set
of nodes, found among the level sets of each channel: the number is exact, up to rounding.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.methods.forest import solve_forest
from elasticgnn.solver.methods.stopping import Stop
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.pieces.flatten import component_means
from elasticgnn.solver.problem.instance import Array, Instance, build_instance
from elasticgnn.solver.problem.units import leading_exponent, prepare
from elasticgnn.solver.solution import Solution

ROUNDS = 60
LARGEST = float(np.finfo(np.float64).max)
NOTHING = (np.empty(0), np.empty(0))  # the dynamic programme needs no start


@dataclass(frozen=True)
class Lambda1Max:
    """lower <= lambda1_max <= upper; `value` is the end that is known to be attained.

    >>> from elasticgnn.solver import lambda1_max
    >>> largest = lambda1_max(x, chain)
    >>> largest.lower <= largest.value <= largest.upper
    True
    """

    value: float
    lower: float
    upper: float


@np.errstate(all="ignore")
def lambda1_max(
    x: Tensor,
    graph: Graph,
    *,
    norm: str = "l21",
    data_weight: Tensor | None = None,
    rtol: float = 1e-6,
) -> Lambda1Max:
    """The bracket of lambda1_max, narrowed to a relative width of rtol.

    One channel or "l1": `value` is the lower end, the exact ratio of a set of nodes. Otherwise it
    is the upper end, at which the solution is certainly flat.

    >>> from elasticgnn.solver import lambda1_max
    >>> round(lambda1_max(x, chain).value, 6)
    1.0
    """
    instance = build_instance(x, graph, ElasticPenalty(0.0, 0.0, norm), data_weight, 0)
    if native is not None and instance.geometry.is_forest:
        return _of_a_forest(instance)
    unit = math.ldexp(1.0, max(leading_exponent(instance.x), -1000) - 1)
    if not 0.25 <= unit <= 4:  # sums of squares of the data leave the range of float64 elsewhere
        found = lambda1_max(x / unit, graph, norm=norm, data_weight=data_weight, rtol=rtol)
        return Lambda1Max(*(unit * one for one in (found.value, found.lower, found.upper)))
    lower, upper = _bracket(instance, x.detach(), graph, data_weight, rtol)
    return Lambda1Max(lower if instance.entrywise else upper, lower, upper)


def _bracket(
    instance: Instance, x: Tensor, graph: Graph, data_weight: Tensor | None, rtol: float
) -> tuple[float, float]:
    """Ends of an interval that holds lambda1_max: a ratio of some nodes, the load of some flow."""
    source, labels = _source(instance)
    lower, upper = (
        _best_ratio(instance, source, labels, instance.x * instance.scale[:, None]),
        np.inf,
    )
    precision, start = 1e-6, None
    for _ in range(ROUNDS):
        if lower == 0 or upper <= lower * (1 + rtol):
            break
        penalty = ElasticPenalty(float(lower), 0.0, instance.norm)
        start = minimise(
            *(x, graph, penalty),
            data_weight=data_weight,
            rtol=precision,
            start=start,
            max_steps=20_000,
            method="ascent",
        )
        if start.interrupted:
            raise KeyboardInterrupt
        value = np.nan_to_num(start.value.numpy().reshape(instance.x.shape))
        higher = _best_ratio(instance, source, labels, value * instance.scale[:, None])
        upper = min(upper, _congestion(instance, source, start))
        if higher <= lower * (1 + 1e-12):
            precision = max(precision / 10, 1e-15)
        lower = max(lower, higher)
    return float(lower), float(max(upper, lower) if lower > 0 else 0.0)


def _of_a_forest(instance: Instance) -> Lambda1Max:
    """Exactly: only one flow has the divergence r, and it carries what each subtree leaves over."""
    prepared = prepare(instance)
    stiff = replace(prepared.instance, lambda1=LARGEST, norm="l1")
    flow = prepared.units.flow_out(solve_forest(stiff, Stop(0.5), *NOTHING).flow)
    size = np.abs(flow) if instance.entrywise else np.linalg.norm(flow, axis=1, keepdims=True)
    live = instance.row_weight > 0
    value = float((size[live] / instance.row_weight[live, None]).max(initial=0.0))
    return Lambda1Max(value, value, value)


def _source(instance: Instance) -> tuple[Array, NDArray[np.intp]]:
    """r = h (b - m) per node, and the component of each node."""
    flat = component_means(instance)
    source = instance.data_weight * (instance.x - flat) / instance.scale[:, None]
    return source, instance.geometry.component


def _best_ratio(
    instance: Instance, source: Array, labels: NDArray[np.intp], signal: Array
) -> float:
    """The largest <r, U> / TV(U) over components of U, or over level sets if channels are alone."""
    if instance.entrywise:
        sweeps = (_best_cut(instance, *pair) for pair in zip(source.T, signal.T, strict=True))
        return max(sweeps, default=0.0)
    tail, head = instance.graph.tail.numpy(), instance.graph.head.numpy()
    length = instance.row_weight * np.linalg.norm(signal[tail] - signal[head], axis=1)
    variation = np.bincount(labels[tail], length, labels.max(initial=0) + 1)
    gain = np.bincount(labels, (source * signal).sum(1), labels.max(initial=0) + 1)
    noise = 1e-12 * np.abs(signal).max(initial=0.0) * instance.row_weight.sum()
    good = variation > noise
    return float((gain[good] / variation[good]).max(initial=0.0))


def _best_cut(instance: Instance, source: Array, signal: Array) -> float:
    """The largest |sum of r over S| / (weight across S) over the level sets S of one channel."""
    tail, head = instance.graph.tail.numpy(), instance.graph.head.numpy()
    levels, rank = np.unique(signal, return_inverse=True)
    inside = np.cumsum(np.bincount(rank, source, len(levels)))
    low, high = np.minimum(rank[tail], rank[head]), np.maximum(rank[tail], rank[head])
    opened = np.bincount(low, instance.row_weight, len(levels) + 1)
    closed = np.bincount(high, instance.row_weight, len(levels) + 1)
    cut = np.cumsum(opened - closed)[: len(levels)]
    good = cut > 1e-9 * instance.row_weight.max(initial=1.0)
    return float((np.abs(inside)[good] / cut[good]).max(initial=0.0))


def _congestion(instance: Instance, source: Array, solution: Solution) -> float:
    """max |V_e| / w_e of the solution's flow, completed to divergence r by potentials."""
    from scipy.sparse import diags_array, eye_array
    from scipy.sparse.linalg import cg

    weight = instance.row_weight
    plain = instance.operator @ diags_array(1 / instance.scale)
    laplacian = plain.T @ diags_array(weight) @ plain
    # the residual sums to zero in every component, so a tiny shift only makes the system definite
    system = laplacian + 1e-13 * float(laplacian.diagonal().max(initial=1.0)) * eye_array(
        len(source)
    )
    inverse = diags_array(1 / np.maximum(laplacian.diagonal(), 1e-300))
    dual = solution.dual.numpy().reshape(len(weight), instance.x.shape[1])
    flow = weight[:, None] * dual
    for _ in range(2):
        left = source - plain.T @ flow
        for k in range(left.shape[1]):
            potential, _ = cg(system, left[:, k], rtol=1e-12, M=inverse, maxiter=5000)
            flow[:, k] += weight * (plain @ potential)
    left = np.abs(source - plain.T @ flow).max(initial=0.0)
    per_unit = np.divide(flow, weight[:, None], out=np.zeros_like(flow), where=weight[:, None] > 0)
    reach = np.abs(per_unit) if instance.entrywise else np.linalg.norm(per_unit, axis=1)
    # what divergence is still missing travels at most once over every edge of a tree
    rest = len(source) * left / weight[weight > 0].min(initial=np.inf)
    return float(reach.max(initial=0.0) + rest)


def log_grid(largest: float, count: int = 50, span: float = 1e-3) -> list[float]:
    """`count` values of lambda1 from span * largest to largest, evenly spaced in logarithm.

    >>> from elasticgnn.solver import log_grid
    >>> [round(v, 3) for v in log_grid(1.0, count=4)]
    [0.001, 0.01, 0.1, 1.0]
    """
    ends = torch.logspace(np.log10(span), 0.0, count, dtype=torch.float64)
    return [float(largest * value) for value in ends]
