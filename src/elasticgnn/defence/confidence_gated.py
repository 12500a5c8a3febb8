"""An ElasticGNN that uses the graph only where its own backbone is unsure."""

import torch
from torch import Tensor, nn

from elasticgnn.attack.many_graphs import Predictor, fast_smoother
from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn import ElasticGNN


class ConfidenceGated(nn.Module):
    """A trained ElasticGNN's smoothed logits where its backbone is unsure, else the backbone's own.

    Node i uses the graph if the backbone's largest class probability is below `threshold`. Which
    nodes do does not depend on the graph, so no flip can reach the others: with `threshold` = 0 no
    attack changes anything, with 1 it is the ElasticGNN.

    >>> from elasticgnn.defence import ConfidenceGated
    >>> careful = ConfidenceGated(model, threshold=0.8)
    >>> careful(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(self, model: ElasticGNN, threshold: float) -> None:
        super().__init__()
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be in [0, 1], got {threshold}")
        self.model, self.threshold = model, threshold

    def is_unsure(self, logits: Tensor) -> Tensor:
        """(n,): the nodes that use the graph."""
        return logits.detach().softmax(1).amax(1) < self.threshold

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out)."""
        alone = self.model.logits(x, noise=noise)
        smoothed = self.model.smooth(alone, graph, edge_weight)
        return torch.where(self.is_unsure(alone)[:, None], smoothed, alone)

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """Labels on many flipped graphs by the ElasticGNN's own loops, None where it has none."""
        alone = self.model.logits(task.features)
        fixed, unsure = alone.argmax(1).byte(), self.is_unsure(alone)
        fast = fast_smoother(self.model, task)
        if fast is None:
            return None
        return lambda flips: torch.where(unsure, fast(flips).label, fixed)
