"""A trained ElasticGNN with another penalty at prediction time."""

import copy

from elasticgnn.nn import ElasticGNN
from elasticgnn.problem import ElasticPenalty

# For networks trained with l21: training with a concave penalty that lets go of edges costs most of
# the accuracy (docs/attacks.md has the measurements, and what they do not show).
HARDENED = ElasticPenalty(3.0, 0.0, "mcp", 2.5)


def with_penalty(model: ElasticGNN, penalty: ElasticPenalty = HARDENED) -> ElasticGNN:
    """A copy of `model`, same weights, that propagates with `penalty`."""
    if not isinstance(model, ElasticGNN):
        raise ValueError(f"model must be an ElasticGNN, got {type(model).__name__}")
    if model.propagation.learnable:
        raise ValueError("model must have a fixed penalty to be given another, got a learnt one")
    changed = copy.deepcopy(model)
    changed.propagation.initial = penalty
    return changed
