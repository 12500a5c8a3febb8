"""Elastic message passing on a graph that several processes hold: same function, same gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.distributed import steps as passes
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.loops import Loops
from elasticgnn.distributed.run import Run
from elasticgnn.problem import ElasticPenalty
from elasticgnn.problem.step_sizes import StepSizes, step_sizes


def elastic_message_passing(
    x: Tensor,
    graph: DistributedGraph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    gamma: float | None = None,
    beta: float | None = None,
    edge_weight: Tensor | None = None,
) -> Tensor:
    """Rows `x` (owned, d) of this process's nodes after `steps` steps over the whole graph.

    Every process calls it with its own rows, in the order of `graph.nodes`, and differentiates it.
    Differentiable once in x, edge weights (k,) in the order of `graph.edges`, and the lambdas. The
    bits of a row do not depend on the number of processes, the partition, or the number of threads.

    >>> from elasticgnn.distributed import DistributedGraph, elastic_message_passing, partition
    >>> graph = DistributedGraph.from_graph(task.graph, partition(task.graph, 2))
    >>> rows = task.features[graph.nodes]  # of this process, in its order
    >>> elastic_message_passing(rows, graph, ElasticPenalty()).shape
    torch.Size([60, 16])
    """
    check(x, graph, steps)
    if edge_weight is not None:
        graph = graph.with_weight(edge_weight)
    sizes = step_sizes(penalty, graph.norm_bound, x, gamma=gamma, beta=beta)
    apply: Any = DistributedSteps.apply  # torch gives it no types
    signal: Tensor = apply(x, graph.weight, *sizes, graph, penalty, steps)
    return signal


def check(x: Tensor, graph: DistributedGraph, steps: int) -> None:
    """Refuses rows of another shape, type or device than the loops take."""
    if x.ndim != 2 or len(x) != graph.num_owned:
        raise ValueError(
            f"x must be ({graph.num_owned}, d), a row for each node of this process, "
            f"got {tuple(x.shape)}"
        )
    if x.dtype not in (torch.float32, torch.float64) or not x.is_cpu:
        raise ValueError(f"x must be float32 or float64 on the CPU, got {x.dtype} on {x.device}")
    if x.shape[1] == 0:
        raise ValueError("x must have at least one column, got none")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps must be an integer >= 0, got {steps!r}")


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
        penalty: ElasticPenalty,
        steps: int,
    ) -> Tensor:
        """The rows of this process after K steps."""
        sizes = StepSizes(*(size.detach() for size in (lambda1, gamma, beta, smoothing)))
        wanted = ctx.needs_input_grad
        ctx.strengths = any(wanted[1:6])
        loops = Loops(graph, penalty, sizes, x.shape[1])
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
