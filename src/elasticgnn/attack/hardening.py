"""A trained ElasticGNN with another penalty at prediction time."""

import copy
from dataclasses import replace

from torch import nn

from elasticgnn.nn import ElasticGNN
from elasticgnn.problem import ElasticPenalty

# For networks trained with l21: training with a concave penalty that lets go of edges costs most of
# the accuracy (docs/defence_details.md has the measurements, and what they do not show).
HARDENED = ElasticPenalty(3.0, 0.0, "mcp", 2.5)


def with_penalty(model: ElasticGNN, penalty: ElasticPenalty = HARDENED) -> ElasticGNN:
    """A copy of `model`, same weights, that propagates with `penalty`.

    >>> from elasticgnn.attack import with_penalty
    >>> with_penalty(model).penalty.norm
    'mcp'
    """
    if not isinstance(model, ElasticGNN):
        raise ValueError(f"model must be an ElasticGNN, got {type(model).__name__}")
    if model.propagation.learnable:
        raise ValueError("model must have a fixed penalty to be given another, got a learnt one")
    changed = copy.deepcopy(model)
    changed.propagation.initial = penalty
    return changed


def routes(model: nn.Module) -> list[nn.Module]:
    """The models that an attacker of `model` goes through: itself first.

    A concave penalty has no gradient on edges that it has torn. It is attacked through its convex
    and its less concave neighbour too, which have the same weights.
    """
    if not isinstance(model, ElasticGNN) or model.penalty.is_convex:
        return [model]
    penalty = model.penalty
    if penalty.concavity is None:  # one of the user's own, which names no milder neighbour
        return [model]
    convex = replace(penalty, norm=penalty.edge_penalty.majoriser.name, concavity=None)
    milder = replace(penalty, concavity=2.4 * penalty.concavity)
    return [model, with_penalty(model, convex), with_penalty(model, milder)]
