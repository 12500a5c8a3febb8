"""Why a model predicts what it does for a node: what changes without a part of its input."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.files import significant
from elasticgnn.graph import Graph
from elasticgnn.training.model.known_columns import node_names
from elasticgnn.training.model.trained_model import TrainedModel
from elasticgnn.training.prediction.occlusion import (
    FeatureEffect,
    Neighbourhood,
    feature_effects,
    neighbour_effects,
)

METHOD = (
    "occlusion, exact: the model is run again without each edge to a neighbour, and with each of "
    "the node's own features at its neutral value (the mean of a dense column, else 0); effects of "
    "several parts need not add up"
)


@dataclass(frozen=True)
class NeighbourEffect:
    """A neighbour; label: the class that the model gives it, or the number as text.

    effect: the output for the node with the edge between them less that without it.
    """

    node: int
    name: str
    label: str
    effect: float


@dataclass(frozen=True, kw_only=True)
class Effects:
    """The output for a node, and what it is due to, the largest effect first.

    alone: the output without any edge; num_neighbours, num_features: how many there are, of
    which those listed were tried.
    """

    node: int
    name: str
    alone: float
    neighbours: tuple[NeighbourEffect, ...]
    features: tuple[FeatureEffect, ...]
    num_neighbours: int
    num_features: int
    method: str = METHOD

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Explanation(Effects):
    """The probability of `label` at a node, and what moved it.

    >>> from elasticgnn.training import explain, trained_on
    >>> found = explain(trained_on(task, model, ModelSettings()), task, 0)
    >>> found.node, 0 <= found.probability <= 1
    (0, True)
    """

    label: str
    probability: float


@dataclass(frozen=True, kw_only=True)
class NumberExplanation(Effects):
    """The number that a model gives a node, and what moved it; all in the unit of the numbers.

    spread: the deviation of the numbers that it was trained on.

    >>> from dataclasses import replace
    >>> from elasticgnn.training import explain_number, trained_on
    >>> of_numbers = replace(trained_on(task, model, ModelSettings()), unit=(100.0, 5.0))
    >>> found = explain_number(of_numbers, task, 0)
    >>> found.node, found.num_features
    (0, 16)
    """

    value: float
    spread: float

    def written(self, number: float) -> str:
        """A number like `value` as text, with digits that tell it from others of the model."""
        return significant(number, 6, self.spread)


def explain(
    trained: TrainedModel, task: NodeTask, node: int, *, label: str | None = None
) -> Explanation:
    """What moved the model's probability of `label` (its best class) at node number `node`.

    >>> from elasticgnn.training import explain, trained_on
    >>> found = explain(trained_on(task, model, ModelSettings()), task, 0)
    >>> len(found.neighbours) <= found.num_neighbours
    True
    """
    if trained.unit is not None:
        raise ValueError("model must predict classes, got one of numbers (see explain_number)")
    around = around_node(trained, task, node)
    outputs = around.outputs(around.graph, around.features)
    best_class = int(outputs[around.centre].argmax())
    target = best_class if label is None else class_number(trained, label)
    names = [trained.class_names[k] for k in outputs.argmax(1).tolist()]
    return Explanation(
        label=trained.class_names[target],
        probability=float(outputs[around.centre, target]),
        **effects(around, task, outputs, names, target),
    )


def explain_number(trained: TrainedModel, task: NodeTask, node: int) -> NumberExplanation:
    """What moved the number that a regression model gives node number `node`.

    >>> from dataclasses import replace
    >>> from elasticgnn.training import explain_number, trained_on
    >>> of_numbers = replace(trained_on(task, model, ModelSettings()), unit=(100.0, 5.0))
    >>> found = explain_number(of_numbers, task, 0)
    >>> abs(found.value - of_numbers.predict_numbers(task).value[0]) < 1e-3
    tensor(True)
    """
    if trained.unit is None:
        raise ValueError("model must have been trained with --target number, got classes")
    around = around_node(trained, task, node)
    outputs = around.outputs(around.graph, around.features)
    spread = trained.unit[1]
    names = [significant(value, 6, spread) for value in outputs[:, 0].tolist()]
    value = float(outputs[around.centre, 0])
    found = effects(around, task, outputs, names, 0)
    return NumberExplanation(value=value, spread=spread, **found)


def around_node(trained: TrainedModel, task: NodeTask, node: int) -> Neighbourhood:
    """The part of the graph that the node's prediction depends on."""
    if not 0 <= node < task.num_nodes:
        raise ValueError(f"node must be in 0..{task.num_nodes - 1}, got {node}")
    return Neighbourhood.of(trained, task, node)


def effects(
    around: Neighbourhood, task: NodeTask, outputs: Tensor, labels: list[str], target: int
) -> dict[str, Any]:
    """The fields of `Effects` for column `target` of the outputs (k, d) for the nodes around."""
    trained, names = around.trained, node_names(task)
    here = float(outputs[around.centre, target])

    def effect(graph: Graph, features: Tensor | SparseFeatures) -> float:
        return here - float(around.outputs(graph, features)[around.centre, target])

    neighbours = [
        NeighbourEffect(node := int(around.nodes[other]), names[node], labels[other], change)
        for other, change in neighbour_effects(around, effect)
    ]
    known, node = trained.with_known_columns(task), int(around.nodes[around.centre])
    return {
        "node": node,
        "name": names[node],
        "alone": here - effect(around.without_edges, around.features),
        "neighbours": tuple(sorted(neighbours, key=lambda part: -abs(part.effect))),
        "features": feature_effects(trained, known, around, effect),
        "num_neighbours": around.num_neighbours,
        "num_features": 0 if trained.nodes is not None else known.num_features,
    }


def class_number(trained: TrainedModel, label: str) -> int:
    """The position of a class by its name."""
    if label not in trained.class_names:
        raise ValueError(f"class must be one of {trained.class_names}, got {label!r}")
    return trained.class_names.index(label)
