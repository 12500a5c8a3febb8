"""Elastic message passing on a graph that several processes hold: same function, same gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.distributed import steps as passes
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.loops import Loops
from elasticgnn.distributed.run import Run
from elasticgnn.operator.request import Request
from elasticgnn.problem import EdgePenalty
from elasticgnn.problem.step_sizes import StepSizes


def propagate(graph: DistributedGraph, request: Request) -> Tensor:
    """Rows (owned, d) of this process's nodes after the steps over the whole graph."""
    apply: Any = DistributedSteps.apply  # torch gives it no types
    inputs = (request.x, graph.weight, *request.sizes)
    signal: Tensor = apply(*inputs, graph, request.edge_penalty, request.steps)
    return signal


class DistributedSteps(torch.autograd.Function):
    """x, weight and the four step sizes to the signal; each process its own rows."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor | None,
        lambda1: Tensor,
        gamma: Tensor,
        beta: Tensor,
        smoothing: Tensor,
        graph: DistributedGraph,
        edge_penalty: EdgePenalty,
        steps: int,
    ) -> Tensor:
        """The rows of this process after K steps."""
        sizes = StepSizes(*(size.detach() for size in (lambda1, gamma, beta, smoothing)))
        wanted = ctx.needs_input_grad
        ctx.strengths = any(wanted[1:6])
        loops = Loops(graph, edge_penalty, sizes, x.shape[1])
        if wanted[2] and not loops.has_dual:
            loops.has_dual = loops.gamma > 0  # lambda1 = 0 has a derivative by lambda1
        ctx.run = Run(loops, steps, strengths=ctx.strengths)
        return ctx.run.forward([x], gradient=any(wanted))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of rows, weights and strengths; once per forward."""
        run: Run = ctx.run
        loops = run.loops
        if torch.is_grad_enabled():  # without a graph of its own the second derivative is lost
            raise RuntimeError(
                "the distributed operator has no second derivatives (create_graph=True): take "
                "them on a Graph in one process"
            )
        sums = passes.Sums.zeros(loops.graph) if ctx.strengths else None
        found: list[Tensor | None] = [run.backward([grad], sums), None, None, None, None, None]
        if sums is not None:
            sizes = passes.size_gradients(loops, sums)
            found[2:6] = [size.to(loops.dtype).reshape(1) for size in sizes]
        if sums is not None and ctx.needs_input_grad[1]:
            found[1] = passes.weight_gradient(loops, sums).to(loops.graph.weight.dtype)  # type: ignore[union-attr]  # asked for
        return (*found, None, None, None)
