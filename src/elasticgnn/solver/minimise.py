"""The certified minimum of the elastic objective: checks, chooses a method, certifies."""

import time
from dataclasses import dataclass

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
    if method not in METHODS:
        raise ValueError(f"method must be one of {tuple(METHODS)}, got {method!r}")
    stop = Stop(rtol, max_steps)
    instance = build_instance(x, graph, penalty, data_weight, order)
    found = solve(instance, stop, first_guess(instance, start), method)
    value = attach_gradient(x, graph, penalty, found.optimum)
    return found.solution(value)


@dataclass(frozen=True)
class Found:
    """What a method found for an instance."""

    optimum: Optimum
    measure: Measure
    steps: int
    seconds: float
    certified: bool
    interrupted: bool

    def solution(self, value: Tensor) -> Solution:
        """The record for users; `value` is the signal in the shape of x."""
        instance, flow = self.optimum.instance, self.optimum.flow
        weight = instance.row_weight[:, None]
        dual = flow / np.where(weight > 0, weight, np.inf)
        return Solution(
            value=value,
            dual=torch.from_numpy(dual).reshape(len(dual), *value.shape[1:]),
            objective=self.measure.objective,
            gap=self.measure.gap,
            steps=self.steps,
            seconds=self.seconds,
            certified=self.certified,
            graph=instance.graph,
            lambda1=instance.lambda1,
        )


def solve(
    instance: Instance, stop: Stop, guess: tuple[Array, Array], method: str = "auto"
) -> Found:
    """The certified outcome of a method that begins at a flow (r, d) and a signal (n, d)."""
    begin = time.perf_counter()
    outcome = METHODS[method](instance, stop, *guess)
    measure = certify_outcome(instance, outcome)
    return judged(instance, outcome, measure, stop.rtol, time.perf_counter() - begin)


def judged(
    instance: Instance, outcome: Outcome, measure: Measure, rtol: float, seconds: float = 0.0
) -> Found:
    """The outcome with its certificate."""
    return Found(
        Optimum(instance, outcome.signal, outcome.flow),
        measure,
        outcome.steps,
        seconds,
        measure.reaches(rtol),
        outcome.interrupted,
    )


def first_guess(instance: Instance, start: Solution | None) -> tuple[Array, Array]:
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
