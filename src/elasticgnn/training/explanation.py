"""Why a model says what it says of one node: what changes when a part of its input is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.data.task import feature_rows
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.forward import forward_on
from elasticgnn.training.hops import count_hops
from elasticgnn.training.prediction import tempered
from elasticgnn.training.trained_model import TrainedModel, node_names

MOST = 50  # neighbours and features that are taken away, one at a time
METHOD = (
    "occlusion, exact: the model is asked again without each edge to a neighbour, and with each of "
    "the node's own features at its neutral value (the mean of a dense column, else 0); effects of "
    "several parts need not add up"
)


@dataclass(frozen=True)
class NeighbourEffect:
    """A neighbour; effect: the probability with its edge less that without it."""

    node: int
    name: str
    label: str
    effect: float


@dataclass(frozen=True)
class FeatureEffect:
    """A feature of the node; effect: the probability with it less that at its neutral value."""

    column: int
    name: str
    value: float
    effect: float


@dataclass(frozen=True)
class Explanation:
    """The probability of `label` at a node, and what it owes to whom, the largest effect first.

    alone: the probability without any edge; num_neighbours, num_features: how many there are, of
    which those listed were tried.

    >>> from elasticgnn.training import explain, trained_on
    >>> found = explain(trained_on(task, model, ModelSettings()), task, 0)
    >>> found.node, 0 <= found.probability <= 1
    (0, True)
    """

    node: int
    name: str
    label: str
    probability: float
    alone: float
    neighbours: tuple[NeighbourEffect, ...]
    features: tuple[FeatureEffect, ...]
    num_neighbours: int
    num_features: int
    method: str = METHOD

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


def explain(
    trained: TrainedModel, task: NodeTask, node: int, *, label: str | None = None
) -> Explanation:
    """What moved the model's probability of `label` (its best class) at node number `node`.

    >>> from elasticgnn.training import explain, trained_on
    >>> found = explain(trained_on(task, model, ModelSettings()), task, 0)
    >>> len(found.neighbours) <= found.num_neighbours
    True
    """
    if not 0 <= node < task.num_nodes:
        raise ValueError(f"node must be in 0..{task.num_nodes - 1}, got {node}")
    around = Neighbourhood.of(trained, task, node)
    said = around.probabilities(around.graph, around.features)
    best_class = int(said[around.centre].argmax())
    target = best_class if label is None else class_number(trained, label)
    no_edges = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), around.graph.num_nodes)
    names = node_names(task)
    best = [trained.class_names[k] for k in said.argmax(1).tolist()]
    here = float(said[around.centre, target])

    def effect(graph: Graph, features: Tensor | SparseFeatures) -> float:
        return here - float(around.probabilities(graph, features)[around.centre, target])

    neighbours = [
        NeighbourEffect(
            int(around.nodes[other]), names[int(around.nodes[other])], best[other], change
        )
        for other, change in neighbour_effects(around, effect)
    ]
    known = trained.with_known_columns(task)
    return Explanation(
        node,
        names[node],
        trained.class_names[target],
        here,
        here - effect(no_edges, around.features),
        tuple(sorted(neighbours, key=lambda part: -abs(part.effect))),
        feature_effects(trained, known, around, effect),
        around.num_neighbours,
        0 if trained.nodes is not None else known.num_features,
    )


def class_number(trained: TrainedModel, label: str) -> int:
    """The position of a class by its name."""
    if label not in trained.class_names:
        raise ValueError(f"class must be one of {trained.class_names}, got {label!r}")
    return trained.class_names.index(label)


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The part of a graph that a node's prediction depends on; centre: the node's place in it."""

    trained: TrainedModel
    graph: Graph
    features: Tensor | SparseFeatures
    nodes: Tensor
    centre: int

    @classmethod
    def of(cls, trained: TrainedModel, task: NodeTask, node: int) -> Neighbourhood:
        """All nodes whose features, or whose degree, can reach the node's prediction."""
        ready = trained.prepared(task)
        nodes = within(task.graph, node, reach(trained))
        features = feature_rows(ready.features, nodes)
        centre = int((nodes == node).nonzero())
        return cls(trained, task.graph.subgraph(nodes), features, nodes, centre)

    @torch.no_grad()
    def probabilities(self, graph: Graph, features: Tensor | SparseFeatures) -> Tensor:
        """What the model says of its nodes with another graph or other features."""
        logits = forward_on(self.trained.model.eval(), features, graph)(None)
        return tempered(logits.double().softmax(1), self.trained.temperature, self.trained.bias)

    @property
    def links(self) -> Tensor:
        """The numbers of the centre's edges."""
        ends = torch.stack([self.graph.tail, self.graph.head])
        return (ends == self.centre).any(0).nonzero().flatten()

    @property
    def num_neighbours(self) -> int:
        """How many neighbours the centre has."""
        return len(self.links)


def reach(trained: TrainedModel) -> int:
    """Steps that influence travels, and one more for the degrees at the rim.

    An elastic step moves node values along edges twice: by the gradient and by the dual.
    """
    settings = trained.settings
    steps = {"elastic": 2 * settings.steps, "appnp": settings.steps, "mlp": 0}
    return steps.get(settings.name, 2) + count_hops(trained.model) + 1


def within(graph: Graph, node: int, steps: int) -> Tensor:
    """The nodes at most `steps` edges away, ascending."""
    matrix, inside = graph.to_scipy(), np.zeros(graph.num_nodes, dtype=bool)
    inside[node] = True
    for _ in range(steps):
        more = inside | ((matrix @ inside.astype(np.float64)) > 0)
        if more.sum() == inside.sum():
            break
        inside = more
    return torch.from_numpy(np.flatnonzero(inside))


Effect = Callable[[Graph, Tensor | SparseFeatures], float]


def neighbour_effects(around: Neighbourhood, effect: Effect) -> list[tuple[int, float]]:
    """Each neighbour's place around the centre and its effect; of many, of the heaviest edges."""
    graph, links = around.graph, around.links
    heaviest = torch.argsort(graph.weight[links], descending=True, stable=True)
    found = []
    for link in links[heaviest[:MOST]].tolist():
        pair = torch.stack([graph.tail[link], graph.head[link]])
        other = int(pair.sum()) - around.centre
        without = graph.with_edges_flipped(pair[None])
        found.append((other, effect(without, around.features)))
    return found


def feature_effects(
    trained: TrainedModel, known: NodeTask, around: Neighbourhood, effect: Effect
) -> tuple[FeatureEffect, ...]:
    """The node's own features that are not neutral; none of a model that knows only ids."""
    if trained.nodes is not None:
        return ()
    dense = isinstance(around.features, Tensor)
    row = row_of(around.features, around.centre)
    given = row_of(known.features, int(around.nodes[around.centre]))
    names = known.feature_names or tuple(f"column {k}" for k in range(known.num_features))
    largest = torch.argsort(row.abs(), descending=True, stable=True)[:MOST].tolist()
    found = [
        FeatureEffect(k, names[k], float(given[k]), effect(around.graph, without(around, k)))
        for k in largest
        if dense or float(row[k]) != 0
    ]
    return tuple(sorted(found, key=lambda part: -abs(part.effect)))


def row_of(features: Tensor | SparseFeatures, node: int) -> Tensor:
    """One row as a dense vector (f,)."""
    rows = feature_rows(features, torch.tensor([node]))
    return rows.to_dense()[0] if isinstance(rows, SparseFeatures) else rows[0]


def without(around: Neighbourhood, column: int) -> Tensor | SparseFeatures:
    """The features with the centre's value in `column` at 0, which is neutral."""
    features = around.features
    if isinstance(features, SparseFeatures):
        hit = (features.row == around.centre) & (features.column == column)
        return features.with_value(torch.where(hit, 0.0, features.value))
    changed = features.clone()
    changed[around.centre, column] = 0
    return changed
