"""Classes, probabilities, and how much each node's neighbourhood moved them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says of every node.

    probability (n, classes); moved (n,): total variation distance in 0..1 between the class
    probabilities before and after propagation, nan for models that have no "before".
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
    after = model(features, graph).double().softmax(1)
    backbone = getattr(model, "logits", None)
    if backbone is None:
        return Prediction(after, after.new_full((len(after),), torch.nan))
    before = backbone(features).double().softmax(1)
    return Prediction(after, (after - before).abs().sum(1) / 2)
