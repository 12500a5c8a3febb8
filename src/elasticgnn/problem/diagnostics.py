"""What a solution says of each edge and node."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.penalty import ElasticPenalty


@dataclass(frozen=True)
class EdgeDiagnostics:
    """Per edge, in the graph's order.

    >>> from elasticgnn.problem import diagnose_edges
    >>> from elasticgnn.solver import minimise
    >>> penalty = ElasticPenalty(0.3, 0.0)
    >>> found = minimise(x, chain, penalty)
    >>> diagnose_edges(found.value, found.dual, x, chain, penalty).is_zero.tolist()
    [True, False, True]
    """

    difference: Tensor  # (m,) Euclidean length of the degree-normalised difference
    saturation: Tensor  # (m,) size of the dual as a share of lambda1, in [0, 1]
    is_zero: Tensor  # (m,) bool: the edge lies inside a constant piece
    is_saturated: Tensor  # (m,) bool: the dual sits on its bound, a jump is kept here
    row_movement: Tensor  # (n,) how far each node's row moved from its input


def diagnose_edges(
    signal: Tensor,
    dual: Tensor,
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    *,
    tolerance: float = 1e-6,
) -> EdgeDiagnostics:
    """Which differences are zero and which edges are saturated, up to a relative `tolerance`.

    >>> from elasticgnn.problem import diagnose_edges
    >>> from elasticgnn.solver import minimise
    >>> penalty = ElasticPenalty(0.3, 0.0)
    >>> found = minimise(x, chain, penalty)
    >>> diagnose_edges(found.value, found.dual, x, chain, penalty).is_saturated.tolist()
    [False, True, False]
    """
    rows = graph.difference(signal)
    length = torch.linalg.vector_norm(rows, dim=-1)
    reach = penalty.edge_penalty.dual_norm(dual)
    lambda1 = penalty.strengths[0]
    saturation = reach / lambda1 if lambda1 > 0 else torch.ones_like(reach)
    largest = float(signal.abs().max()) if signal.numel() else 0.0
    return EdgeDiagnostics(
        difference=length,
        saturation=saturation,
        is_zero=length <= tolerance * max(largest, torch.finfo(signal.dtype).tiny),
        is_saturated=saturation >= 1 - tolerance,
        row_movement=torch.linalg.vector_norm(signal - x, dim=-1),
    )
