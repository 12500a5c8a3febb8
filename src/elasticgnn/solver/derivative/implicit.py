"""The gradient of the minimiser by implicit differentiation: memory independent of the steps.

At the optimum the differences split into free rows (delta = 0, the dual inside its ball) and the
others, where the penalty is smooth. The signal F and the flow V of the free rows make the
Lagrangian

    c/2 |F - X|^2 + sum over the moving rows of omega (lambda1 |delta| + lambda2/2 |delta|^2)
                  + <V, K_free F>

stationary. Its second derivative in (F, V) is the matrix M of adjoint.py beside this: a cotangent g
solves M v = g, and the gradient in any parameter is minus the derivative of <v, Lagrangian'> in
it at fixed F, V, v. M v = g is differentiated in the same way, so derivatives of any order are
right as long as no row changes sides.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.derivative.adjoint import Adjoint, Rows, polish, split_rows
from elasticgnn.solver.problem.instance import Array, Instance

FREE_SHARE = 1e-6  # of the signal's spread: smaller differences count as zero


@dataclass(frozen=True)
class _Stationary:
    """An optimum with its rows split: which Lagrangian it makes stationary."""

    instance: Instance
    rows: Rows

    def lagrangian(self, state: tuple[Tensor, ...], data: tuple[Tensor, ...]) -> Tensor:
        """Of the state (F, V) and the data (x, lambda1, lambda2, weight): a scalar."""
        (signal, flow), (x, lambda1, lambda2, weight) = state, data
        instance = self.instance
        graph = instance.graph.with_weight(weight)
        observed = torch.from_numpy(instance.data_weight)
        empty = torch.from_numpy(instance.is_missing | instance.unobserved)
        x = torch.where(empty, 0.0, x.reshape(signal.shape))
        delta = trend(graph, instance.order, signal)
        free = torch.from_numpy(self.rows.free)
        omega = graph.weight[:, None] if instance.order != 1 else 1.0
        bend = lambda1 * self._lengths(delta, free)
        curve = lambda2 / 2 * torch.where(free, 0.0, delta).square()
        smooth = (omega * bend).sum() + (omega * curve).sum()
        return (observed * (signal - x).square()).sum() / 2 + smooth + (flow * delta * free).sum()

    def _lengths(self, delta: Tensor, free: Tensor) -> Tensor:
        """|delta| of the moving rows (r, 1), or of entries (r, d); 0 where nothing moves."""
        if self.rows.entrywise:
            return torch.where(free, 0.0, delta).abs()
        bent = ~free.all(1, keepdim=True) & (delta != 0).any(1, keepdim=True)
        length = torch.linalg.vector_norm(torch.where(bent, delta, 1.0), dim=1, keepdim=True)
        return torch.where(bent, length, 0.0)

    def pairing(
        self, v: tuple[Tensor, ...], state: tuple[Tensor, ...], data: tuple[Tensor, ...]
    ) -> Tensor:
        """<v, derivative of the Lagrangian in the state>."""
        slope: tuple[Tensor, ...] = torch.func.grad(self.lagrangian)(state, data)
        return _inner(v, slope)

    def bilinear(
        self,
        u: tuple[Tensor, ...],
        v: tuple[Tensor, ...],
        state: tuple[Tensor, ...],
        data: tuple[Tensor, ...],
    ) -> Tensor:
        """<u, M v> with M the second derivative of the Lagrangian in the state."""
        slope: tuple[Tensor, ...] = torch.func.grad(lambda s: self.pairing(v, s, data))(state)
        return _inner(u, slope)


def _inner(left: tuple[Tensor, ...], right: tuple[Tensor, ...]) -> Tensor:
    return torch.stack([(a * b).sum() for a, b in zip(left, right, strict=True)]).sum()


def attach_gradient(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    instance: Instance,
    optimum: tuple[Array, Array],
) -> Tensor:
    """F shaped like x; carries gradients if x, a lambda or the weights ask for one.

    `optimum` is F (n, d) and V (r, d) of the instance.
    """
    strengths = [
        torch.as_tensor(value, dtype=torch.float64) for value in (penalty.lambda1, penalty.lambda2)
    ]
    value = torch.from_numpy(optimum[0]).reshape(x.shape)
    inputs = (x, *strengths, graph.weight)
    if not torch.is_grad_enabled() or not any(t.requires_grad for t in inputs):
        return value
    apply: Any = _Minimiser.apply  # torch gives it no types
    attached: Tensor = apply(*(t.double() for t in inputs), instance, optimum)[0]
    return attached.reshape(x.shape)


class _Minimiser(torch.autograd.Function):
    """F (n, d) and V (r, d) as functions of x, lambda1, lambda2 and the weights."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor]:
        *data, instance, optimum = inputs
        signal, flow = (torch.from_numpy(part).clone() for part in optimum)
        ctx.save_for_backward(*data, signal, flow)
        ctx.instance, ctx.found = instance, optimum[0]
        ctx.set_materialize_grads(False)
        return signal, flow

    @staticmethod
    def backward(ctx: Any, *cotangent: Tensor | None) -> tuple[Tensor | None, ...]:
        *data, signal, flow = ctx.saved_tensors
        stationary, state = _polished(ctx.instance, ctx.found, (signal, flow))
        given = tuple(
            torch.zeros_like(s) if c is None else c for c, s in zip(cotangent, state, strict=True)
        )
        apply: Any = _AdjointState.apply
        adjoint = apply(stationary, *given, *state, *data)
        parts = torch.func.grad(stationary.pairing, argnums=2)(adjoint, state, tuple(data))
        return *(-part for part in parts), None, None


class _AdjointState(torch.autograd.Function):
    """v of M v = g as a function of g, the state and the data."""

    @staticmethod
    def forward(ctx: Any, stationary: _Stationary, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        by_signal, by_flow = (part.detach().numpy() for part in inputs[:2])
        solver = Adjoint(stationary.instance, stationary.rows)
        adjoint, multiplier = (torch.from_numpy(p) for p in solver.solve(by_signal, by_flow))
        ctx.stationary = stationary
        ctx.save_for_backward(*inputs, adjoint, multiplier)
        return adjoint, multiplier

    @staticmethod
    def backward(ctx: Any, *cotangent: Tensor) -> tuple[Tensor | None, ...]:
        state, data, adjoint = (ctx.saved_tensors[k:stop] for k, stop in ((2, 4), (4, 8), (8, 10)))
        apply: Any = _AdjointState.apply
        u = apply(ctx.stationary, *cotangent, *state, *data)  # M is symmetric
        moved = torch.func.grad(ctx.stationary.bilinear, argnums=(2, 3))(u, adjoint, state, data)
        return None, *u, *(-part for group in moved for part in group)


def _polished(
    instance: Instance, found: Array, state: tuple[Tensor, Tensor]
) -> tuple[_Stationary, tuple[Tensor, ...]]:
    """The Lagrangian at the signal that was found, and the state moved to its last digits."""
    rows = split_rows(instance, found, FREE_SHARE)
    better = polish(instance, rows, found)
    if better is None:
        return _Stationary(instance, rows), state
    rows = replace(rows, delta=np.asarray(instance.operator @ better[0]))
    # the state keeps its place in torch's graph and takes the better numbers
    moved = (s + (torch.from_numpy(b) - s.detach()) for s, b in zip(state, better, strict=True))
    return _Stationary(instance, rows), tuple(moved)


def trend(graph: Graph, order: int, signal: Tensor) -> Tensor:
    """delta = K F of the given order, differentiable in the graph's weights."""
    if order > 0:
        signal = graph.divergence(graph.difference(signal))
    return signal if order == 1 else graph.difference(signal)
