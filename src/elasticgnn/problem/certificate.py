"""How far a signal is from the optimum: the duality gap, from any signal and any dual."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.objective import dual_value, primal_value
from elasticgnn.problem.penalties.base import EdgePenalty
from elasticgnn.problem.penalty import ElasticPenalty


@dataclass(frozen=True)
class Certificate:
    """gap >= P(F) - min P, and |F - F*| <= distance_bound.

    scope "global": of the problem itself (it is convex). scope "local" (concave penalties): of its
    convex majoriser at F; a gap of 0 then says that F is stationary, not that it is the best.

    >>> from elasticgnn.problem import certify
    >>> certificate = certify(x, torch.zeros(3, 1), x, chain, ElasticPenalty(0.1, 0.0))
    >>> certificate.scope, round(certificate.gap, 6)
    ('global', 0.12)
    """

    primal: float
    dual: float
    gap: float
    scope: str

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the primal value."""
        return self.gap / abs(self.primal) if self.primal else self.gap

    @property
    def distance_bound(self) -> float:
        """sqrt(2 gap): the most that F can be away from the minimiser."""
        return math.sqrt(2 * max(self.gap, 0.0))


def certify(
    signal: Tensor, dual: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty
) -> Certificate:
    """The certificate of signal F (n, d) and dual Z (m, d), evaluated in float64.

    Any Z will do: it is projected onto the ball first; a better Z gives a smaller gap.

    >>> from elasticgnn.problem import certify
    >>> from elasticgnn.solver import minimise
    >>> penalty = ElasticPenalty(0.1, 0.0)
    >>> found = minimise(x, chain, penalty)
    >>> certify(found.value, found.dual, x, chain, penalty).relative_gap < 1e-6
    True
    """
    if penalty.strengths[1] == math.inf:
        raise ValueError("lambda2 must be finite for a certificate, got inf")
    edge_penalty, (lambda1, lambda2) = penalty.edge_penalty, penalty.strengths
    with torch.no_grad():
        signal, dual, x = signal.double(), dual.double(), x.double()
        difference = graph.difference(signal)
        radius = edge_penalty.tangent(difference, lambda1)
        folded = edge_penalty.into_domain(dual, radius) + lambda2 * difference
        primal = float(primal_value(signal, x, graph, penalty))
        lower = float(dual_value(folded, x, graph, penalty, radius))
        offset = _majoriser_offset(difference, radius, graph, edge_penalty, lambda1)
        scope = "global" if penalty.is_convex else "local"
        return Certificate(primal, lower + offset, primal - lower - offset, scope)


def _majoriser_offset(
    difference: Tensor, radius: Tensor, graph: Graph, edge_penalty: EdgePenalty, lambda1: float
) -> float:
    """What the tangent of a concave penalty adds to its own linear part."""
    if edge_penalty.is_convex:
        return 0.0
    weight, _ = graph._cast(difference.dtype)
    tangent = edge_penalty.majoriser.value(difference, radius[:, 0])
    return float((weight * (edge_penalty.value(difference, lambda1) - tangent)).sum())
