"""The public operator: checks its arguments, chooses an implementation, calls it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.operator import fused, reference
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem import ElasticPenalty
from elasticgnn.problem.step_sizes import StepSizes, step_sizes

IMPLEMENTATIONS = ("auto", "fused", "reference")
MEMORY_MODES = ("fast", "lean")


@dataclass(frozen=True)
class ElasticState:
    """Signal F and dual Z of the iteration, in the shape of the input."""

    signal: Tensor  # (n, d) or (n, R, d)
    dual: Tensor  # (m, d) or (m, R, d), per unit of edge weight


def elastic_message_passing(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    gamma: float | None = None,
    beta: float | None = None,
    edge_weight: Tensor | None = None,
    implementation: str = "auto",
    memory: str = "fast",
) -> Tensor:
    """Node rows `x` after `steps` elastic steps; differentiable in x, edge weights, lambdas.

    x is (n, d), or (n, R, d) for R independent runs with lambda1 and lambda2 scalars or (R,).
    gamma and beta default to the paper's step sizes; others must satisfy its Theorem 1.
    `edge_weight` (m,) replaces the graph's weights, in the order of its edges.
    memory="lean" keeps as little as possible for the gradient: the dual rows that projections
    moved, or, where those are many, about every sqrt(steps)-th state to recompute the rest from.
    """
    x, graph, sizes = _prepare(x, graph, penalty, steps, (gamma, beta), edge_weight)
    if memory not in MEMORY_MODES:
        raise ValueError(f"memory must be one of {MEMORY_MODES}, got {memory!r}")
    if _use_fused(implementation, x):
        concavity = penalty.concavity or 0.0
        return fused.propagate(x, graph, sizes, penalty.norm, concavity, steps, memory)
    rows = with_runs(x)
    signal, _ = reference.propagate(rows, graph, sizes, penalty.norm, penalty.concavity, steps)
    return signal.view(x.shape)


def elastic_state(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    implementation: str = "auto",
) -> ElasticState:
    """Signal and dual after `steps` elastic steps, for inspection; no gradient."""
    with torch.no_grad():
        x, graph, sizes = _prepare(x, graph, penalty, steps, (None, None), None)
        rows = with_runs(x)
        if _use_fused(implementation, rows):
            concavity = penalty.concavity or 0.0
            signal, dual = fused.propagate_state(rows, graph, sizes, penalty.norm, concavity, steps)
        else:
            signal, dual = reference.propagate(
                rows, graph, sizes, penalty.norm, penalty.concavity, steps
            )
    return ElasticState(signal.view(x.shape), dual.view(graph.num_edges, *x.shape[1:]))


def _prepare(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    steps: int,
    given: tuple[float | None, float | None],
    edge_weight: Tensor | None,
) -> tuple[Tensor, Graph, StepSizes]:
    """x in its final precision, the graph with its final weights, and the step sizes."""
    if not isinstance(x, Tensor) or x.ndim not in (2, 3) or x.shape[0] != graph.num_nodes:
        shape = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(
            f"x must be ({graph.num_nodes}, d) or (n, R, d) for this graph, got {shape}"
        )
    if x.dtype in (torch.float16, torch.bfloat16) and torch.is_autocast_enabled(x.device.type):
        x = x.float()  # autocast asks for the precision that the operation needs
    if x.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"x must be float32 or float64, got {x.dtype}")
    if x.device != graph.device:
        raise ValueError(f"x must be on the graph's device {graph.device}, got {x.device}")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise ValueError(f"steps must be an integer >= 0, got {steps!r}")
    if edge_weight is not None:
        graph = graph.with_weight(edge_weight)
    runs = 1 if x.ndim == 2 else x.shape[1]
    gamma, beta = given
    return x, graph, step_sizes(penalty, graph.norm_bound, x, runs, gamma=gamma, beta=beta)


def _use_fused(implementation: str, rows: Tensor) -> bool:
    if implementation not in IMPLEMENTATIONS:
        raise ValueError(f"implementation must be one of {IMPLEMENTATIONS}, got {implementation!r}")
    if implementation == "fused":
        if not rows.is_cpu:
            raise ValueError(f"implementation 'fused' must have x on the CPU, got {rows.device}")
        fused.require()
        return True
    return implementation == "auto" and rows.is_cpu and fused.is_available()
