"""The gradient of the minimiser by implicit differentiation: memory independent of the steps.

At the optimum the differences split into free rows (delta = 0, the dual inside its ball) and the
others, where the penalty is smooth. Moving the problem's data moves the optimum within the space
of signals that keep the free rows at zero; the adjoint v of a loss gradient g solves

    H v + K_free' mu = g,    K_free v = 0,    H = C + K' omega B K over the rows that are not free,

B = lambda2 I + lambda1 (I - u u') / |delta| ("l21") or lambda2 I ("l1"). The derivative with
respect to any parameter is minus that of <v, gradient of P> + <mu, K_free F> at fixed F, v, mu.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.adjoint import Adjoint, Rows, polish, split_rows
from elasticgnn.solver.instance import Array, Instance

FREE_SHARE = 1e-6  # of the signal's spread: smaller differences count as zero


@dataclass(frozen=True)
class Optimum:
    """A solved problem: what the backward pass starts from."""

    instance: Instance
    signal: Array  # F (n, d)
    flow: Array  # V (r, d)


def attach_gradient(x: Tensor, graph: Graph, penalty: ElasticPenalty, optimum: Optimum) -> Tensor:
    """F shaped like x; carries gradients if x, a lambda or the weights ask for one."""
    strengths = [
        torch.as_tensor(value, dtype=torch.float64) for value in (penalty.lambda1, penalty.lambda2)
    ]
    value = torch.from_numpy(optimum.signal).reshape(x.shape)
    inputs = (x, *strengths, graph.weight)
    if not torch.is_grad_enabled() or not any(t.requires_grad for t in inputs):
        return value
    apply: Any = _Minimiser.apply  # torch gives it no types
    attached: Tensor = apply(*inputs, value, optimum)
    return attached


class _Minimiser(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        lambda1: Tensor,
        lambda2: Tensor,
        weight: Tensor,
        value: Tensor,
        optimum: Optimum,
    ) -> Tensor:
        ctx.save_for_backward(x, lambda1, lambda2, weight)
        ctx.optimum = optimum
        return value.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        wanted = [k for k in range(4) if ctx.needs_input_grad[k]]
        leaves = [t.detach().double().requires_grad_() for t in saved]
        rows = gradient.detach().double().numpy().reshape(ctx.optimum.signal.shape)
        with torch.enable_grad():
            scalar = _pullback(ctx.optimum, rows, leaves)
            parts = torch.autograd.grad(scalar, [leaves[k] for k in wanted], allow_unused=True)
        out: list[Tensor | None] = [None] * 6
        for k, part in zip(wanted, parts, strict=True):
            out[k] = torch.zeros_like(saved[k]) if part is None else part.to(saved[k].dtype)
        return tuple(out)


def _pullback(optimum: Optimum, gradient: Array, leaves: list[Tensor]) -> Tensor:
    """A scalar whose derivative with respect to (x, lambda1, lambda2, weight) is the loss's."""
    instance = optimum.instance
    rows = split_rows(instance, optimum.signal, FREE_SHARE)
    better = polish(instance, rows, optimum.signal)
    if better is not None:
        optimum = Optimum(instance, *better)
        rows = replace(rows, delta=np.asarray(instance.operator @ optimum.signal))
    adjoint, multiplier = Adjoint(instance, rows).solve(gradient)
    x, lambda1, lambda2, weight = leaves
    graph = instance.graph.with_weight(weight)
    data = x.reshape(gradient.shape)
    data = torch.where(torch.from_numpy(instance.data_weight > 0)[:, None], data, 0.0)
    signal, v = torch.from_numpy(optimum.signal), torch.from_numpy(adjoint)
    c = torch.from_numpy(instance.data_weight)[:, None]
    fidelity = (v * c * (signal - data)).sum()
    slope = _smooth_slope(rows, lambda1, lambda2, trend(graph, instance.order, signal))
    omega = graph.weight[:, None] if instance.order != 1 else 1.0
    delta_v = trend(graph, instance.order, v)
    moving = torch.from_numpy(~rows.free)
    smooth = (omega * slope * delta_v * moving).sum()
    held = (torch.from_numpy(optimum.flow) * delta_v * ~moving).sum()
    tied = (torch.from_numpy(multiplier) * trend(graph, instance.order, signal)).sum()
    return -(fidelity + smooth + held + tied)


def _smooth_slope(rows: Rows, lambda1: Tensor, lambda2: Tensor, delta: Tensor) -> Tensor:
    """Gradient of lambda1 |delta| + lambda2/2 |delta|^2 where it is smooth, else 0."""
    moving = torch.from_numpy(~rows.free)
    safe = torch.where(moving, delta, torch.ones_like(delta))
    if rows.entrywise:
        return lambda1 * safe.sign() + lambda2 * delta
    length = torch.linalg.vector_norm(safe, dim=1, keepdim=True)
    return lambda1 * safe / length + lambda2 * delta


def trend(graph: Graph, order: int, signal: Tensor) -> Tensor:
    """delta = K F of the given order, differentiable in the graph's weights."""
    if order > 0:
        signal = graph.divergence(graph.difference(signal))
    return signal if order == 1 else graph.difference(signal)
