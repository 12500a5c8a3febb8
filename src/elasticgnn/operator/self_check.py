"""Whether the compiled loops agree with the definition on this machine."""

import torch

from elasticgnn.graph import Graph
from elasticgnn.operator.emp import elastic_message_passing
from elasticgnn.problem import ElasticPenalty

ROUNDING = 1e-4  # what ten steps of float32 in another order may differ by


def largest_difference() -> float:
    """Largest difference between the chosen route's steps and the plain ones on a ring."""
    ends = torch.arange(50)
    ring = Graph.from_edge_index(torch.stack([ends, (ends + 1) % 50]), 50, undirected=True)
    x = torch.randn(50, 5, generator=torch.Generator().manual_seed(0))
    chosen, plain = (
        elastic_message_passing(x, ring, ElasticPenalty(), 10, implementation=way)
        for way in ("auto", "reference")
    )
    return float((chosen - plain).abs().max())
