"""Measurements on a trained network: differences along edges, objective along the steps."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty, primal_value

SPARSE_BELOW = 0.1


def edge_values(logits: Tensor, task: NodeTask) -> dict[str, float]:
    """Tables 3 and 4: ratio of mean differences along wrong and correct edges, sparse share.

    The difference along an edge is the length of (D F)_e, the degree-normalised difference.
    """
    graph = task.graph
    length = torch.linalg.vector_norm(graph.difference(logits.double()), dim=-1)
    ends = task.labels[graph.tail], task.labels[graph.head]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    wrong, correct = known & (ends[0] != ends[1]), known & (ends[0] == ends[1])
    return {
        "ratio": float(length[wrong].mean() / length[correct].mean()),
        "sparse": 100 * float((length < SPARSE_BELOW).double().mean()),
        "wrong": float(length[wrong].mean()),
        "correct": float(length[correct].mean()),
    }


def objective_series(
    signal: Tensor, task: NodeTask, penalty: ElasticPenalty, steps: int = 40
) -> tuple[float, ...]:
    """Figure 3: the objective after 0, 1, ..., `steps` steps from the network's own signal."""
    x = signal.double()
    values = []
    for count in range(steps + 1):
        smoothed = elastic_message_passing(x, task.graph, penalty, steps=count)
        value = float(primal_value(smoothed, x, task.graph, penalty))
        values.append(float(f"{value:.7g}"))
    return tuple(values)
