"""Which edges look wrong to a model that predicts numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.attack.suspicion import RankedEdges, propagated, rank
from elasticgnn.data import NodeTask
from elasticgnn.training import TrainedModel


@dataclass(frozen=True, eq=False)
class NumberEdgeScores(RankedEdges):
    """One value per edge; score: the rank of the difference, in 0..1.

    difference: between the numbers of the two ends, known ones before predicted; proposed: between
    what the model says of them without any edge; saturation: |Z_e| / lambda1 of an ElasticGNN, the
    share of its bound that the dual uses up, 0 for other models. value (n,): the numbers compared.
    """

    difference: Tensor
    proposed: Tensor
    saturation: Tensor
    value: Tensor


@torch.no_grad()
def score_number_edges(trained: TrainedModel, task: NodeTask) -> NumberEdgeScores:
    """The edges of the task's graph as a model of numbers sees them; known numbers speak first."""
    if trained.unit is None:
        raise ValueError("model must have been trained with --target number, got classes")
    graph = task.graph
    trained.model.eval()
    before, after, saturation = propagated(trained.model, trained.prepared(task))
    mean, deviation = trained.unit
    alone, value = (mean + deviation * rows[:, 0] for rows in (before, after))
    if task.values is not None:
        value = torch.where(task.values.isnan(), value, task.values)
    difference, proposed = ((x[graph.tail] - x[graph.head]).abs() for x in (value, alone))
    return NumberEdgeScores(graph, rank(difference), difference, proposed, saturation, value)
