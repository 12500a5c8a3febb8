"""Which edges look wrong to a trained model, and how well that finds inserted ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.nn import ElasticGNN
from elasticgnn.operator import elastic_state
from elasticgnn.training.loop.forward import forward_on

# The difference is informative on every attacked graph; the predicted classes of its ends help
# where the network is right about them, and mislead where the attack has won (docs/attacks.md).
WEIGHTS = {"difference": 3, "proposed": 1, "disagreement": 1, "saturation": 1}


@dataclass(frozen=True, eq=False)
class RankedEdges:
    """The edges of a graph and how suspicious each is, in the graph's order."""

    graph: Graph
    score: Tensor

    def order(self) -> Tensor:
        """Edge numbers, most suspicious first; ties by edge number."""
        return torch.argsort(self.score, descending=True, stable=True)

    def without_worst(self, count: int) -> Graph:
        """The graph without its `count` most suspicious edges."""
        if not 0 <= count <= self.graph.num_edges:
            raise ValueError(f"drop must be in 0..{self.graph.num_edges}, got {count}")
        worst = self.order()[:count]
        pairs = torch.stack((self.graph.tail[worst], self.graph.head[worst]), dim=1)
        return self.graph.with_edges_flipped(pairs)


@dataclass(frozen=True, eq=False)
class EdgeScores(RankedEdges):
    """One value per edge of `graph`, in its order; larger means more suspicious.

    score: weighted mean rank, in 0..1, of the four below it (WEIGHTS). difference: |delta_e| that
    the edge still bridges after propagation; proposed: the same before it, between what the
    backbone says of the two ends; disagreement: probability that the ends belong to different
    classes; saturation: |Z_e| / lambda1, the share of its bound that the dual uses up.
    label: class of each node, known before predicted. Models other than ElasticGNN have no dual:
    differences are those of their logits with and without the graph, saturation is 0.

    >>> from elasticgnn.attack import score_edges
    >>> scores = score_edges(model, task)
    >>> scores.without_worst(3).num_edges == task.graph.num_edges - 3
    True
    """

    difference: Tensor
    proposed: Tensor
    disagreement: Tensor
    saturation: Tensor
    label: Tensor


@torch.no_grad()
def score_edges(model: nn.Module, task: NodeTask, known: Tensor | None = None) -> EdgeScores:
    """The edges of the task's graph as `model` sees them; `known` nodes speak by their label.

    >>> from elasticgnn.attack import score_edges
    >>> score_edges(model, task).score.shape == task.graph.weight.shape
    True
    """
    model.eval()
    graph = task.graph
    before, after, saturation = propagated(model, task)
    probability = after.softmax(1)
    if known is not None and len(known):
        eye = torch.eye(task.num_classes, dtype=probability.dtype)
        probability[known] = eye[task.labels[known]]
    meeting = (probability[graph.tail] * probability[graph.head]).sum(1)
    return ranked(
        graph,
        difference=graph.difference(after).norm(dim=1),
        proposed=graph.difference(before).norm(dim=1),
        disagreement=1 - meeting,
        saturation=saturation,
        label=probability.argmax(1),
    )


def propagated(model: nn.Module, task: NodeTask) -> tuple[Tensor, Tensor, Tensor]:
    """Logits (n, classes) without and with the graph, and the saturation of each edge (m,)."""
    graph = task.graph
    if not isinstance(model, ElasticGNN):
        edgeless = Graph.from_edge_index(graph.tail.new_empty(2, 0), graph.num_nodes)
        before, after = (
            forward_on(model, task.features, edges)(None).double() for edges in (edgeless, graph)
        )
        return before, after, after.new_zeros(graph.num_edges)
    before = model.logits(task.features).double()
    state = elastic_state(before, graph, model.penalty, model.K)
    strength = float(model.penalty.lambda1)
    reach = model.penalty.edge_penalty.dual_norm(state.dual.flatten(1))
    return before, state.signal, reach / strength if strength > 0 else torch.zeros_like(reach)


def ranked(
    graph: Graph,
    *,
    difference: Tensor,
    proposed: Tensor,
    disagreement: Tensor,
    saturation: Tensor,
    label: Tensor,
) -> EdgeScores:
    """The scores of these measurements."""
    measures = {
        "difference": difference,
        "proposed": proposed,
        "disagreement": disagreement,
        "saturation": saturation,
    }
    score = torch.zeros_like(difference)
    for name, weight in WEIGHTS.items():
        score += weight / sum(WEIGHTS.values()) * rank(measures[name])
    return EdgeScores(graph, score, difference, proposed, disagreement, saturation, label)


def mean_scores(parts: Sequence[EdgeScores]) -> EdgeScores:
    """The scores of the measurements' means over several models of one graph.

    >>> from elasticgnn.attack import mean_scores, score_edges
    >>> scores = score_edges(model, task)
    >>> bool(torch.allclose(mean_scores([scores, scores]).difference, scores.difference))
    True
    """
    if not parts or any(part.graph != parts[0].graph for part in parts):
        raise ValueError("parts must be scores of one graph, got none or several graphs")

    def mean(name: str) -> Tensor:
        return torch.stack([getattr(part, name) for part in parts]).mean(0)

    names = ("difference", "proposed", "disagreement", "saturation")
    label = torch.stack([part.label for part in parts]).mode(0).values
    return ranked(parts[0].graph, **{name: mean(name) for name in names}, label=label)


def rank(values: Tensor) -> Tensor:
    """The share of values below each one, ties counted half: in 0..1."""
    _, place, count = torch.unique(values, return_inverse=True, return_counts=True)
    upto = count.cumsum(0).double()
    return ((upto - count / 2) / max(len(values), 1))[place]


def roc_area(score: Tensor, truth: Tensor) -> float:
    """Chance that a true edge scores above a false one, ties counted half; nan without both.

    >>> from elasticgnn.attack import roc_area
    >>> roc_area(torch.tensor([0.9, 0.8, 0.1]), torch.tensor([True, False, True]))
    0.5
    """
    positive = int(truth.sum())
    negative = len(truth) - positive
    if not positive or not negative:
        return float("nan")
    place = rank(score) * len(score) + 0.5
    return (float(place[truth].sum()) - positive * (positive + 1) / 2) / (positive * negative)


def precision_at(score: Tensor, truth: Tensor, count: int) -> float:
    """Share of true edges among the `count` highest scores.

    >>> from elasticgnn.attack import precision_at
    >>> precision_at(torch.tensor([0.9, 0.8, 0.1]), torch.tensor([True, False, True]), 2)
    0.5
    """
    if count < 1:
        return float("nan")
    best = torch.argsort(score, descending=True, stable=True)[:count]
    return float(truth[best].double().mean())
