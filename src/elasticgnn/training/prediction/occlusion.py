"""A model asked again about one node, each time without one part of its input."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.data.task import feature_rows
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.loop.forward import forward_on
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.prediction.predict import tempered
from elasticgnn.training.wrappers.hops import count_hops

MOST = 50  # neighbours and features that are taken away, one at a time


@dataclass(frozen=True)
class FeatureEffect:
    """A feature of the node; effect: the output with it less that at its neutral value."""

    column: int
    name: str
    value: float
    effect: float


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
    def outputs(self, graph: Graph, features: Tensor | SparseFeatures) -> Tensor:
        """Probabilities (k, classes) or numbers (k, 1) with another graph or other features."""
        outputs = forward_on(self.trained.model.eval(), features, graph)(None).double()
        if self.trained.unit is not None:
            return self.trained.unit[0] + self.trained.unit[1] * outputs
        return tempered(outputs.softmax(1), self.trained.temperature, self.trained.bias)

    @property
    def without_edges(self) -> Graph:
        """Its nodes without any edge."""
        return Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), self.graph.num_nodes)

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
