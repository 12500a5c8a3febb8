"""Value of the elastic objective and its dual lower bound (docs/math.md)."""

import math

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem.penalty import ElasticPenalty


def primal_value(signal: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty) -> Tensor:
    """P(F) = sum_e w_e (rho(delta_e) + lambda2/2 |delta_e|^2) + 1/2 |F - X|^2, a scalar."""
    weight, _ = graph.cast(signal.dtype)
    difference = graph.difference(signal)
    per_edge = edge_penalty(difference, penalty)
    per_edge = per_edge + penalty.strengths[1] / 2 * difference.square().sum(-1)
    return (weight * per_edge).sum() + (signal - x).square().sum() / 2


def edge_penalty(difference: Tensor, penalty: ElasticPenalty) -> Tensor:
    """rho(delta_e): the part of the penalty that lambda1 governs, per row."""
    lambda1 = penalty.strengths[0]
    if penalty.norm == "l1":
        return lambda1 * difference.abs().sum(-1)
    length = torch.linalg.vector_norm(difference, dim=-1)
    if penalty.norm == "l21":
        return lambda1 * length
    assert penalty.concavity is not None
    a = penalty.concavity
    capped = length.clamp(max=a * lambda1)
    if penalty.norm == "mcp":
        return lambda1 * capped - capped.square() / (2 * a)
    curved = (2 * a * lambda1 * capped - capped.square() - lambda1**2) / (2 * (a - 1))
    return torch.where(length <= lambda1, lambda1 * length, curved)


def dual_value(
    dual: Tensor, x: Tensor, graph: Graph, penalty: ElasticPenalty, radius: Tensor | None = None
) -> Tensor:
    """Lower bound on min P from any W (m, d): both penalties folded together.

    1/2|X|^2 - 1/2|X - div W|^2 - sum_e w_e max(|W_e| - lambda1, 0)^2 / (2 lambda2), entrywise for
    "l1"; with lambda2 = 0 a W outside the ball of `radius` (lambda1 unless given) gives -inf.
    """
    weight, _ = graph.cast(dual.dtype)
    flow = graph.divergence(dual)
    reach = dual.abs() if penalty.norm == "l1" else _lengths(dual)
    ball = penalty.strengths[0] if radius is None else radius
    beyond = (reach - ball).clamp(min=0)
    value = (x * flow).sum() - flow.square().sum() / 2
    lambda2 = penalty.strengths[1]
    if lambda2 > 0:
        return value - (weight[:, None] * beyond.square()).sum() / (2 * lambda2)
    # rounding of a projection onto the ball is no violation
    slack = 8 * torch.finfo(dual.dtype).eps * ball
    outside = (beyond > slack) & (weight[:, None] > 0)
    return value - math.inf if bool(outside.any()) else value


def _lengths(rows: Tensor) -> Tensor:
    return torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
