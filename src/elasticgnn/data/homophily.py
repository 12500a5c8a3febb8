"""How often edges join nodes of one class."""

import torch

from elasticgnn.data.task import NodeTask


def homophily(task: NodeTask) -> tuple[float, float]:
    """The share of edges within a class among those between known nodes, and that of chance.

    Where the first is not above the second, unequal ends are no sign of a wrong edge.
    """
    graph, labels = task.graph, task.labels
    tail, head = labels[graph.tail], labels[graph.head]
    both = (tail >= 0) & (head >= 0)
    ends = torch.cat([tail[both], head[both]])
    if len(ends) == 0:
        return float("nan"), float("nan")
    share = torch.bincount(ends).double() / len(ends)
    return float((tail == head)[both].double().mean()), float((share**2).sum())
