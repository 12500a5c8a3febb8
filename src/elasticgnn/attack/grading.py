"""How well a score of edges finds those that an attack inserted."""

from dataclasses import dataclass

import torch

from elasticgnn.attack.perturbation import component_task
from elasticgnn.attack.suspicion import RankedEdges, precision_at, roc_area
from elasticgnn.data import NodeTask
from elasticgnn.graph.keys import edge_keys


@dataclass(frozen=True)
class Grade:
    """What the ranking is worth, where the inserted edges are known."""

    inserted: int
    roc_area: float
    precision_at_inserted: float


def grade_scores(scores: RankedEdges, clean: NodeTask, attacked: NodeTask) -> Grade:
    """The grade of scores on an attacked task, from the task before."""
    part = clean if clean.num_nodes == attacked.num_nodes else component_task(clean)
    inserted = ~torch.isin(edge_keys(attacked.graph), edge_keys(part.graph))
    count = int(inserted.sum())
    found = precision_at(scores.score, inserted, count)
    return Grade(count, roc_area(scores.score, inserted), found)


def can_be_split(task: NodeTask) -> bool:
    """Whether two classes or more have nodes to train, to choose and to test with: three each."""
    if task.values is not None:  # numbers have no classes
        return False
    counts = torch.bincount(task.labels[task.labelled], minlength=1)
    counts = counts[counts > 0]
    return len(counts) >= 2 and int(counts.min()) >= 3
