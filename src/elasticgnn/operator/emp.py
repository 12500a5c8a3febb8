"""The public operator: checks its arguments, chooses a route, takes it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.operator import fused, reference
from elasticgnn.operator.request import Options, PartedGraph, make_request, refusal_of_kernels
from elasticgnn.operator.routes import RouteReport, choose, report
from elasticgnn.operator.shapes import with_runs
from elasticgnn.problem import ElasticPenalty


@dataclass(frozen=True)
class ElasticState:
    """Signal F and dual Z of the iteration, in the shape of the input.

    >>> from elasticgnn.operator import elastic_state
    >>> state = elastic_state(x, chain, ElasticPenalty(0.1, 0.0), steps=5)
    >>> tuple(state.signal.shape), tuple(state.dual.shape)
    ((4, 1), (3, 1))
    """

    signal: Tensor  # (n, d) or (n, R, d)
    dual: Tensor  # (m, d) or (m, R, d), per unit of edge weight


def elastic_message_passing(
    x: Tensor,
    graph: Graph | PartedGraph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    gamma: float | None = None,
    beta: float | None = None,
    edge_weight: Tensor | None = None,
    edge_strength: Tensor | None = None,
    implementation: str = "auto",
    memory: str = "fast",
) -> Tensor:
    """Node rows `x` after `steps` elastic steps; differentiable in x, edge weights, lambdas.

    x is (n, d), or (n, R, d) for R independent runs with lambda1 and lambda2 scalars or (R,).
    gamma and beta default to the paper's step sizes; others must satisfy its Theorem 1.
    `edge_weight` (m,) replaces the graph's weights, in the order of its edges; `edge_strength`
    (m,) multiplies lambda1 of each edge (plain version only).
    memory="lean" saves as little as possible for the gradient: the dual rows that projections
    moved, or, where those are many, about every sqrt(steps)-th state to recompute the rest from.
    memory="half" lets a GPU hold the dual in bfloat16; elsewhere it is "fast".
    float16 and bfloat16 rows are computed in float32 and come back in their own type.
    With a `DistributedGraph` every process calls this with the rows (owned, d) of its own nodes, in
    the order of `graph.nodes`, and edge weights in that of `graph.edges`; differentiable once.

    >>> from elasticgnn import elastic_message_passing
    >>> smooth = elastic_message_passing(x, chain, ElasticPenalty(0.1, 0.0), steps=200)
    >>> [round(v, 2) for v in smooth.flatten().tolist()]
    [0.1, 0.2, 1.0, 1.1]
    """
    options = Options(gamma, beta, implementation, memory)
    request = make_request(x, graph, penalty, steps, options, edge_weight, edge_strength)
    out = choose(request).run(request)
    # autocast asks for the precision that the operation needs and takes the result as it is
    if out.dtype == x.dtype or torch.is_autocast_enabled(x.device.type):
        return out
    return out.to(x.dtype)


def explain_route(
    x: Tensor,
    graph: Graph | PartedGraph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    gamma: float | None = None,
    beta: float | None = None,
    edge_weight: Tensor | None = None,
    edge_strength: Tensor | None = None,
    implementation: str = "auto",
    memory: str = "fast",
) -> RouteReport:
    """Which route `elastic_message_passing` takes for the same arguments, and why no other.

    >>> from elasticgnn.operator import explain_route
    >>> explain_route(x, chain, ElasticPenalty(0.1, 0.0), implementation="reference").taken
    'plain'
    """
    options = Options(gamma, beta, implementation, memory)
    return report(make_request(x, graph, penalty, steps, options, edge_weight, edge_strength))


def elastic_state(
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    steps: int = 10,
    *,
    gamma: float | None = None,
    beta: float | None = None,
    edge_strength: Tensor | None = None,
    implementation: str = "auto",
    differentiable: bool = False,
) -> ElasticState:
    """Signal and dual after `steps` elastic steps; no gradient unless `differentiable`.

    Gradients of the dual are the plain version's.

    >>> from elasticgnn.operator import elastic_state
    >>> float(elastic_state(x, chain, ElasticPenalty(0.1, 0.0)).dual.abs().max()) <= 0.1 + 1e-12
    True
    """
    with torch.set_grad_enabled(differentiable and torch.is_grad_enabled()):
        options = Options(gamma, beta, implementation)
        request = make_request(x, graph, penalty, steps, options, edge_strength=edge_strength)
        rows, sizes, edge_penalty = with_runs(request.x), request.sizes, request.edge_penalty
        direct = request.gradients == "none" and not request.is_watched
        if direct and refusal_of_kernels(request) is None:
            signal, dual = fused.propagate_state(rows, graph, sizes, edge_penalty, steps)
        else:
            signal, dual = reference.propagate(
                rows, graph, sizes, edge_penalty, steps, edge_strength
            )
        return ElasticState(signal.view(x.shape), dual.view(graph.num_edges, *x.shape[1:]))
