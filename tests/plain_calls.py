"""Calls of the plain route with everything that can be differentiated, for tests of it."""

import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.problem import PENALTIES
from own_penalties import Huber
from strategies import normal_rows

CONCAVITY = {"mcp": 30.0, "scad": 30.0}
NORMS = [*PENALTIES, "own"]
DIFFERENTIATED = [
    ("x",),
    ("weight",),
    ("lambda1",),
    ("lambda2",),
    ("strength",),
    ("x", "weight"),
    ("x", "lambda1", "lambda2"),
    ("x", "weight", "lambda1", "lambda2", "strength"),
]


def penalty_of(norm, lambda1=0.4, lambda2=1.0):
    norm = Huber() if norm == "own" else norm
    return ElasticPenalty(lambda1, lambda2, norm, CONCAVITY.get(norm))


def arguments(graph, differentiated, runs=1, width=4):
    """Tensors for everything that can be differentiated, those named asking for a gradient."""
    generator = torch.Generator().manual_seed(1)
    values = {
        "x": 2 * normal_rows(graph.num_nodes, runs * width).view(-1, runs, width),
        "weight": graph.weight,
        "lambda1": torch.linspace(0.1, 0.4, runs).double(),
        "lambda2": torch.tensor(1.3).double(),
        "strength": 0.5 + torch.rand(graph.num_edges, generator=generator).double(),
    }
    return {name: v.clone().requires_grad_(name in differentiated) for name, v in values.items()}


def smoothed(given, graph, norm, steps, implementation="auto"):
    penalty = penalty_of(norm, given["lambda1"], given["lambda2"])
    return elastic_message_passing(
        given["x"],
        graph,
        penalty,
        steps,
        edge_weight=given["weight"],
        edge_strength=given["strength"],
        implementation=implementation,
    )
