"""Classes, probabilities, and how much each node's neighbourhood moved them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.forward import forward_on


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says of every node.

    probability (n, classes); moved (n,): total variation distance in 0..1 between these and the
    class probabilities that the same model gives each node without any edge.
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


@torch.no_grad()
def predict(model: nn.Module, features: Tensor | SparseFeatures, graph: Graph) -> Prediction:
    """The prediction of `model` without dropout."""
    model.eval()
    nobody = Graph.from_edge_index(graph.tail.new_empty(2, 0), graph.num_nodes)
    alone, after = (
        forward_on(model, features, edges)(None).double().softmax(1) for edges in (nobody, graph)
    )
    return Prediction(after, (after - alone).abs().sum(1) / 2)
