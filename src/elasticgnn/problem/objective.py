"""Value of the elastic objective and its dual lower bound (docs/math.md)."""

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.penalty import ElasticPenalty


def primal_value(signal: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty) -> Tensor:
    """P(F) = sum_e w_e (rho(delta_e) + lambda2/2 |delta_e|^2) + 1/2 |F - X|^2, a scalar.

    >>> from elasticgnn.problem import primal_value
    >>> round(float(primal_value(x, x, chain, ElasticPenalty(0.1, 0.0))), 6)
    0.12
    """
    weight, _ = graph._cast(signal.dtype)
    difference = graph.difference(signal)
    per_edge = penalty.edge_penalty.value(difference, penalty.strengths[0])
    per_edge = per_edge + penalty.strengths[1] / 2 * difference.square().sum(-1)
    return (weight * per_edge).sum() + (signal - x).square().sum() / 2


def dual_value(
    dual: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty, radius: Tensor | None = None
) -> Tensor:
    """Lower bound on min P from any W (m, d): both penalties folded together.

    1/2|X|^2 - 1/2|X - div W|^2 - sum_e w_e rho*(W_e) with rho* the conjugate of the edge's whole
    penalty: max(|W_e| - lambda1, 0)^2 / (2 lambda2) for "l21", entrywise for "l1". With lambda2 = 0
    a W outside the ball of `radius` (lambda1 unless given) gives -inf.

    >>> from elasticgnn.problem import dual_value, primal_value
    >>> penalty = ElasticPenalty(0.1, 0.0)
    >>> bool(dual_value(torch.zeros(3, 1), x, chain, penalty) <= primal_value(x, x, chain, penalty))
    True
    """
    weight, _ = graph._cast(dual.dtype)
    flow = graph.divergence(dual)
    lambda1, lambda2 = penalty.strengths
    convex = penalty.edge_penalty.majoriser
    cost = convex.folded_conjugate(dual, lambda1 if radius is None else radius, lambda2)
    paid = torch.where(weight > 0, weight * cost, 0.0).sum()
    return (x * flow).sum() - flow.square().sum() / 2 - paid
