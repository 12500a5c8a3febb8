"""Classes, probabilities, and how much each node's neighbourhood moved them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.loop.forward import forward_on

LEAST = 1e-12  # what a smaller probability counts as, when it is calibrated and predicted


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model predicts for every node.

    probability (n, classes); moved (n,): total variation distance in 0..1 between these and the
    class probabilities that the same model gives each node without any edge.

    >>> from elasticgnn.training import predict
    >>> found = predict(model, task.features, task.graph)
    >>> found.probability.shape, found.label.shape, found.confidence.shape
    (torch.Size([60, 2]), torch.Size([60]), torch.Size([60]))
    """

    probability: Tensor
    moved: Tensor

    @property
    def label(self) -> Tensor:
        """The most probable class of each node (n,)."""
        return self.probability.argmax(1)

    @property
    def confidence(self) -> Tensor:
        """The probability of that class (n,)."""
        return self.probability.amax(1)

    @property
    def num_mostly_moved(self) -> int:
        """How many nodes owe more than half of their probabilities to the graph."""
        return int((self.moved > 0.5).sum())


@dataclass(frozen=True, eq=False)
class NumberPrediction:
    """The number that a model gives every node.

    value (n,); moved (n,): how far it is from what the same model says without any edge.
    """

    value: Tensor
    moved: Tensor

    def interval(self, half_width: float) -> tuple[Tensor, Tensor]:
        """Lower and upper ends (n,) of intervals around the numbers."""
        return self.value - half_width, self.value + half_width


def tempered(
    probability: Tensor, temperature: float, bias: tuple[float, ...] | None = None
) -> Tensor:
    """softmax(logits / temperature + bias) of the logits behind `probability`."""
    if temperature == 1 and not bias:
        return probability
    logits = probability.clamp(min=LEAST).log() / temperature
    return (logits + torch.tensor(bias) if bias else logits).softmax(1)


@torch.no_grad()
def predict(
    model: nn.Module,
    features: Tensor | SparseFeatures,
    graph: Graph,
    *,
    temperature: float = 1.0,
    bias: tuple[float, ...] | None = None,
) -> Prediction:
    """The prediction of `model` without dropout, calibrated by `tempered`.

    >>> from elasticgnn.training import predict
    >>> predict(model, task.features, task.graph).label.shape
    torch.Size([60])
    """
    both = outputs(model, features, graph)
    alone, after = (tempered(rows.softmax(1), temperature, bias) for rows in both)
    return Prediction(after, (after - alone).abs().sum(1) / 2)


@torch.no_grad()
def outputs(
    model: nn.Module, features: Tensor | SparseFeatures, graph: Graph
) -> tuple[Tensor, Tensor]:
    """The model's outputs (n, d) without any edge, and with the graph."""
    model.eval()
    edgeless = Graph.from_edge_index(graph.tail.new_empty(2, 0), graph.num_nodes)
    both = (edgeless, graph)
    alone, after = (forward_on(model, features, edges)(None).double() for edges in both)
    return alone, after


def predict_numbers(
    model: nn.Module, features: Tensor | SparseFeatures, graph: Graph, unit: tuple[float, float]
) -> NumberPrediction:
    """The numbers that `model` gives, whose outputs are (number - unit[0]) / unit[1]."""
    alone, after = (rows[:, 0] for rows in outputs(model, features, graph))
    return NumberPrediction(unit[0] + unit[1] * after, unit[1] * (after - alone).abs())
