"""Edges that should not be there: random pairs of nodes of different classes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from elasticgnn.data.task import NodeTask
from elasticgnn.graph.keys import edge_keys

BLOCK = 4096  # candidates per draw; fixed, so that a larger share keeps the smaller one's edges


def add_wrong_edges(task: NodeTask, share: float, generator: torch.Generator) -> NodeTask:
    """The task with `share` times its number of edges added between nodes of different class.

    The new edges have weight 1 and join nodes of known class that were not joined before. Equal
    generators and different shares give nested sets of edges.

    >>> from elasticgnn.data import add_wrong_edges
    >>> more = add_wrong_edges(task, 0.1, generator)
    >>> more.graph.num_edges - task.graph.num_edges == int(0.1 * task.graph.num_edges)
    True
    """
    if not (math.isfinite(share) and share >= 0):
        raise ValueError(f"share must be a finite number >= 0, got {share}")
    count = round(share * task.graph.num_edges)
    pairs = draw_wrong_pairs(task, count, generator)
    graph = task.graph.with_edges_flipped(pairs)
    return task.with_graph(graph, f"{count} wrong edges added ({share:.0%} of the edges)")


def draw_wrong_pairs(task: NodeTask, count: int, generator: torch.Generator) -> Tensor:
    """`count` distinct unjoined pairs (count, 2) of different known class, in drawing order."""
    available = count_wrong_pairs(task)
    if count > available // 2:
        raise ValueError(
            f"share must ask for at most {available // 2} edges (half of the free pairs of "
            f"different class), got {count}"
        )
    n, nodes = task.num_nodes, task.labelled
    taken = set(edge_keys(task.graph).tolist())
    chosen: list[tuple[int, int]] = []
    while len(chosen) < count:
        drawn = nodes[torch.randint(len(nodes), (BLOCK, 2), generator=generator)]
        drawn = drawn[task.labels[drawn[:, 0]] != task.labels[drawn[:, 1]]]
        for low, high in drawn.sort(dim=1).values.tolist():
            if low * n + high not in taken and len(chosen) < count:
                taken.add(low * n + high)
                chosen.append((low, high))
    return torch.tensor(chosen, dtype=torch.int64).view(-1, 2)


def count_wrong_pairs(task: NodeTask) -> int:
    """Unjoined pairs of nodes whose classes are known and different."""
    sizes = torch.bincount(task.labels[task.labelled]).tolist()
    total = (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
    tail, head = task.labels[task.graph.tail], task.labels[task.graph.head]
    joined = int(((tail >= 0) & (head >= 0) & (tail != head)).sum())
    return total - joined
