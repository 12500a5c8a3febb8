"""The certified minimum of the elastic objective: checks, chooses a method, certifies."""

import time

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import native
from elasticgnn.solver.ascend import Outcome, Stop, ascend
from elasticgnn.solver.backends import PlainBackend
from elasticgnn.solver.implicit import Optimum, attach_gradient
from elasticgnn.solver.instance import Array, Instance, build_instance
from elasticgnn.solver.measure import Measure
from elasticgnn.solver.missing import order_zero_bounds
from elasticgnn.solver.papc import iterate
from elasticgnn.solver.solution import Solution

METHODS = {"auto": ascend, "ascent": ascend, "papc": iterate}
STEP_LIMIT = 1_000_000


def minimise(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    *,
    data_weight: Tensor | None = None,
    order: int = 0,
    rtol: float = 1e-6,
    max_steps: int | None = None,
    start: Solution | None = None,
    method: str = "auto",
) -> Solution:
    """The minimiser of P for the signal x (n,) or (n, d), with a proof of how good it is.

    P(F) = 1/2 sum_i c_i |F_i - X_i|^2 + sum_r w_r (lambda1 |delta_r| + lambda2/2 |delta_r|^2)

    delta is the difference along edges (order 0), the Laplacian at nodes (order 1) or its
    difference along edges (order 2). `data_weight` c (n,) is 1 unless given; 0 marks a missing
    value, and every component needs one that is not. `start` is a solution of a similar problem.
    Differentiable in x, lambda1, lambda2 and the graph's weights (solver/implicit.py).
    """
    begin = time.perf_counter()
    if method not in METHODS:
        raise ValueError(f"method must be one of {tuple(METHODS)}, got {method!r}")
    if not 0 < rtol < 1:
        raise ValueError(f"rtol must lie in (0, 1), got {rtol}")
    instance = build_instance(x, graph, penalty, data_weight, order)
    stop = Stop(rtol, _checked_steps(max_steps))
    outcome = METHODS[method](instance, stop, *_first_guess(instance, start))
    measure = certify_outcome(instance, outcome)
    weight = instance.row_weight[:, None]
    dual = np.divide(outcome.flow, weight, out=np.zeros_like(outcome.flow), where=weight > 0)
    return Solution(
        value=attach_gradient(x, graph, penalty, Optimum(instance, outcome.signal, outcome.flow)),
        dual=torch.from_numpy(dual).reshape(len(dual), *x.shape[1:]),
        objective=measure.objective,
        gap=measure.gap,
        steps=outcome.steps,
        seconds=time.perf_counter() - begin,
        certified=measure.reaches(rtol),
        graph=graph,
        lambda1=instance.lambda1,
    )


def _checked_steps(max_steps: int | None) -> int:
    if max_steps is None:
        return STEP_LIMIT
    if isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 0:
        raise ValueError(f"max_steps must be an integer >= 0 or None, got {max_steps!r}")
    return max_steps


def _first_guess(instance: Instance, start: Solution | None) -> tuple[Array, Array]:
    """Flow (r, d) and signal (n, d) to begin from."""
    channels = instance.x.shape[1]
    if start is None:
        seen = instance.data_weight > 0
        mean = instance.x[seen].mean(0) if seen.any() else np.zeros(channels)
        guess = np.where(seen[:, None], instance.x, mean)
        return np.zeros((instance.num_rows, channels)), guess
    dual = start.dual.detach().numpy()
    if dual.size != instance.num_rows * channels or start.value.numel() != instance.x.size:
        raise ValueError(
            f"start must come from a problem of the same shape, {(instance.num_rows, channels)}, "
            f"got {dual.shape}"
        )
    dual = dual.reshape(instance.num_rows, channels)
    value = start.value.detach().numpy().reshape(instance.x.shape)
    return dual * instance.row_weight[:, None], value


def certify_outcome(instance: Instance, outcome: Outcome) -> Measure:
    """The certificate of the very numbers that are returned."""
    if not native.is_available(instance):
        backend = PlainBackend(instance, outcome.flow, outcome.signal)
        return backend.measure(outcome.signal, outcome.flow)
    bounds = order_zero_bounds(instance) if len(instance.missing) else None
    scaled = native.build_scaled(instance)
    signal = np.ascontiguousarray(outcome.signal * instance.scale[:, None])
    flow = np.ascontiguousarray(outcome.flow)
    _, flux = scaled.signal_of(flow, scaled.center, scaled.stiff)
    return native.measure_scaled(scaled, instance.missing, (signal, flux), bounds)
