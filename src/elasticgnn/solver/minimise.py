"""The certified minimum of the elastic objective: checks, chooses a method, certifies."""

import time
from dataclasses import replace

import numpy as np
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.certificate.measure import Measure, Verdict
from elasticgnn.solver.derivative.implicit import attach_gradient
from elasticgnn.solver.found import Found, with_verdict
from elasticgnn.solver.linear_algebra.fill import FactorTooLargeError
from elasticgnn.solver.losses import Loss
from elasticgnn.solver.methods.choice import (
    ASKED,
    METHODS,
    RUN,
    Choice,
    choose,
    last_resort,
    refusal,
    without_factor,
)
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.methods.stopping import Stop
from elasticgnn.solver.pieces.flatten import constant_fit
from elasticgnn.solver.problem.extras import Extras
from elasticgnn.solver.problem.instance import Array, Instance, build_instance
from elasticgnn.solver.problem.units import Prepared, prepare
from elasticgnn.solver.solution import Solution
from elasticgnn.tracking.callback import Callback


@np.errstate(all="ignore")  # a number beyond float64 makes the certificate fail: that is enough
def minimise(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    *,
    data_weight: Tensor | None = None,
    order: int = 0,
    boundary: str = "graph",
    rtol: float = 1e-6,
    max_steps: int | None = None,
    start: Solution | None = None,
    method: str = "auto",
    loss: str | Loss = "squared",
    lower: float | Tensor | None = None,
    upper: float | Tensor | None = None,
    sparsity: float = 0.0,
    row_strength: Tensor | None = None,
    channel_strength: Tensor | None = None,
    callback: Callback | None = None,
) -> Solution:
    """The minimiser of P for the signal x (n,) or (n, d), with a proof of how good it is.

    P(F) = 1/2 sum_i c_i |F_i - X_i|^2 + sum_r w_r (lambda1 |delta_r| + lambda2/2 |delta_r|^2)

    delta is the difference along edges (order 0), the Laplacian at nodes (order 1) or its
    difference along edges (order 2). On a chain boundary="free" takes the differences of any order
    instead, which leave polynomials of that order alone (trend filtering).
    `data_weight` c, (n,) or one per entry (n, d), is 1 unless
    given; 0 marks a missing value. A component without any value stays missing: NaN comes out.
    `start` is a solution of a similar problem, used by the ascent.
    `loss` replaces the squares (solver/losses/), `lower` and `upper` bound F, and `sparsity` adds
    sparsity |F_ik| per entry. `row_strength` (r,) multiplies the penalty of each row, that is of
    each edge (order 1: node); `channel_strength` (d,) multiplies each channel of delta.
    `callback` gets the relative gap at every check, and at the end (tracking).
    Differentiable in x, lambda1, lambda2 and the graph's weights (solver/derivative/implicit.py).

    >>> from elasticgnn.solver import minimise
    >>> solution = minimise(x, chain, ElasticPenalty(lambda1=0.3, lambda2=0.0))
    >>> [round(v, 6) for v in solution.value.flatten().tolist()]
    [0.25, 0.25, 0.95, 0.95]
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    stop = Stop(rtol, max_steps, callback=callback)
    extras = Extras(loss, lower, upper, sparsity, row_strength, channel_strength)
    prepared = prepare(build_instance(x, graph, penalty, data_weight, order, boundary, extras))
    found = solve(prepared, stop, first_guess(prepared, start), method)
    if callback is not None:
        callback("minimise", found.outcome.steps, {"relative_gap": found.measure.relative_gap})
    if any(_asks_for_gradient(one) for one in (x, penalty.lambda1, penalty.lambda2)):
        _check_differentiable(boundary, extras)
    value = attach_gradient(x, graph, penalty, prepared.original, found.optimum)
    return found.solution(value)


def _check_differentiable(boundary: str, extras: Extras) -> None:
    if boundary == "free":
        raise ValueError("boundary must be 'graph' where a gradient is asked for, got 'free'")
    if not extras.is_plain:
        raise ValueError(
            "loss must be 'squared', without bounds, lasso or strengths per row or channel, "
            "where a gradient is asked for"
        )


def _asks_for_gradient(value: float | Tensor) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def solve(
    prepared: Prepared, stop: Stop, guess: tuple[Array, Array], method: str = "auto"
) -> Found:
    """The certified outcome of a method that begins at a flow (r, d) and a signal (n, d)."""
    begin, instance = time.perf_counter(), prepared.instance
    if (known := _without_method(prepared, stop.rtol, method)) is not None:
        return replace(known, seconds=time.perf_counter() - begin)
    plan = choose(instance) if method == "auto" else [_asked(instance, method)]
    best: Found | None = None
    steps = 0
    while plan:
        choice = plan.pop(0)
        left = stop.last_step - steps
        limit = left if choice.steps is None else min(choice.steps, left)
        try:
            outcome = RUN[choice.name](instance, replace(stop, max_steps=limit), *guess)
        except FactorTooLargeError as error:
            plan = [without_factor(instance, choice, error)]
            continue
        steps += outcome.steps
        now = with_verdict(prepared, replace(outcome, steps=steps), stop.rtol, choice)
        if best is None or now.measure.gap < best.measure.gap:
            best = now
        guess = (best.outcome.flow, best.outcome.signal)
        if best.verdict is Verdict.CERTIFIED or outcome.interrupted or steps >= stop.last_step:
            break
        if best.measure.is_final(stop.rtol) or not plan:
            is_last = choice.name == "precise" or method != "auto"
            plan = [] if is_last else last_resort(instance, best.choice)
    assert best is not None
    outcome = replace(best.outcome, steps=steps, interrupted=outcome.interrupted)
    return replace(best, outcome=outcome, seconds=time.perf_counter() - begin)


def _without_method(prepared: Prepared, rtol: float, method: str) -> Found | None:
    """The answer where no method is needed; None where one is."""
    if not len(prepared.instance.x):
        return _nothing(prepared, rtol)
    return _without_loss(prepared, rtol) if method == "auto" else None


def _nothing(prepared: Prepared, rtol: float) -> Found:
    """The answer for a graph without nodes, which no method has to see."""
    signal = prepared.instance.x
    flow = np.zeros((prepared.instance.num_rows, signal.shape[1]))
    choice = Choice("constant", "the graph has no nodes")
    return Found(prepared, Outcome(signal, flow, 0), Measure(0.0, 0.0, 0.0), rtol, choice)


def _without_loss(prepared: Prepared, rtol: float) -> Found | None:
    """The signal whose objective is 0, where each component has one value only.

    No relative gap but 0 can be shown of it, and no iteration arrives at exactly 0.
    """
    signal = constant_fit(prepared.instance)
    if signal is None:
        return None
    flow = np.zeros((prepared.instance.num_rows, signal.shape[1]))
    choice = Choice("constant", "the data are one value per component: nothing to weigh up")
    found = with_verdict(prepared, Outcome(signal, flow, 0), rtol, choice)
    return found if found.measure.objective == 0 else None


def _asked(instance: Instance, method: str) -> Choice:
    """The method that the caller wants, if it can serve."""
    why_not = refusal(instance, method)
    if why_not is not None:
        raise ValueError(f"method must not be {method!r} for this problem: {why_not}")
    return Choice(method, ASKED)


def first_guess(prepared: Prepared, start: Solution | None) -> tuple[Array, Array]:
    """Flow (r, d) and signal (n, d) to begin from."""
    instance = prepared.instance
    channels = instance.x.shape[1]
    if start is None:
        seen = ~instance.is_missing
        count = np.maximum(seen.sum(0), 1)
        guess = np.where(seen, instance.x, instance.x.sum(0, where=seen) / count)
        return np.zeros((instance.num_rows, channels)), guess
    dual = start.dual.detach().numpy()
    if dual.size != instance.num_rows * channels or start.value.numel() != instance.x.size:
        raise ValueError(
            f"start must come from a problem of the same shape, {(instance.num_rows, channels)}, "
            f"got {dual.shape}"
        )
    dual = dual.reshape(instance.num_rows, channels)
    value = start.value.detach().numpy().reshape(instance.x.shape)
    value = np.where(np.isnan(value), 0.0, prepared.units.signal_in(value))
    flow = dual * instance.row_weight[:, None] * instance.channel_factor
    return prepared.units.flow_in(flow), value
