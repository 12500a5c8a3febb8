"""How far a signal is from the optimum: the duality gap, from any signal and any dual."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.objective import dual_value, edge_penalty, primal_value
from elasticgnn.problem.penalty import ElasticPenalty
from elasticgnn.problem.projection import project_entries, project_rows


@dataclass(frozen=True)
class Certificate:
    """gap >= P(F) - min P, and |F - F*| <= distance_bound.

    scope "global": of the problem itself (it is convex). scope "local" ("mcp", "scad"): of its
    convex majoriser at F; a gap of 0 then says that F is stationary, not that it is the best.
    """

    primal: float
    dual: float
    gap: float
    scope: str

    @property
    def relative_gap(self) -> float:
        return self.gap / abs(self.primal) if self.primal else self.gap

    @property
    def distance_bound(self) -> float:
        return math.sqrt(2 * max(self.gap, 0.0))


def certify(
    signal: Tensor, dual: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty
) -> Certificate:
    """The certificate of signal F (n, d) and dual Z (m, d), evaluated in float64.

    Any Z will do: it is projected onto the ball first; a better Z gives a smaller gap.
    """
    if penalty.strengths[1] == math.inf:
        raise ValueError("lambda2 must be finite for a certificate, got inf")
    with torch.no_grad():
        signal, dual, x = signal.double(), dual.double(), x.double()
        difference = graph.difference(signal)
        radius = _radius(difference, penalty)
        project = project_entries if penalty.norm == "l1" else project_rows
        folded = project(dual, radius) + penalty.strengths[1] * difference
        primal = float(primal_value(signal, x, graph, penalty))
        lower = float(dual_value(folded, x, graph, penalty, radius))
        offset = _majoriser_offset(difference, radius, graph, penalty)
        scope = "global" if penalty.is_convex else "local"
        return Certificate(primal, lower + offset, primal - lower - offset, scope)


def _radius(difference: Tensor, penalty: ElasticPenalty) -> Tensor:
    """Slope of the penalty at each difference (m, 1): lambda1 when convex."""
    lambda1 = penalty.strengths[0]
    full = difference.new_full((len(difference), 1), lambda1)
    if penalty.is_convex:
        return full
    assert penalty.concavity is not None
    length = torch.linalg.vector_norm(difference, dim=-1, keepdim=True)
    if penalty.norm == "mcp":
        return (full - length / penalty.concavity).clamp(min=0)
    fading = (penalty.concavity * lambda1 - length) / (penalty.concavity - 1)
    return torch.minimum(fading.clamp(min=0), full)


def _majoriser_offset(
    difference: Tensor, radius: Tensor, graph: Graph, penalty: ElasticPenalty
) -> float:
    """What the tangent of a concave penalty adds to its own linear part."""
    if penalty.is_convex:
        return 0.0
    weight, _ = graph.cast(difference.dtype)
    length = torch.linalg.vector_norm(difference, dim=-1)
    return float((weight * (edge_penalty(difference, penalty) - radius[:, 0] * length)).sum())
