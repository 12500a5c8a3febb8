"""An ElasticGNN that hears the graph only where its own backbone is unsure."""

import torch
from torch import Tensor, nn

from elasticgnn.attack.many_graphs import Predictor, fast_smoother
from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn import ElasticGNN


class Trusting(nn.Module):
    """A trained ElasticGNN's smoothed logits where its backbone is unsure, else the backbone's own.

    Node i hears the graph if the backbone's largest class probability is below `sure`. Whom it
    hears does not depend on the graph, so no flip can reach the other nodes: with `sure` = 0 no
    attack changes anything, with 1 it is the ElasticGNN.

    >>> from elasticgnn.defence import Trusting
    >>> careful = Trusting(model, sure=0.8)
    >>> careful(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(self, model: ElasticGNN, sure: float) -> None:
        super().__init__()
        if not 0 <= sure <= 1:
            raise ValueError(f"sure must be in [0, 1], got {sure}")
        self.model, self.sure = model, sure

    def listens(self, logits: Tensor) -> Tensor:
        """(n,): the nodes that hear the graph."""
        return logits.detach().softmax(1).amax(1) < self.sure

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
        return torch.where(self.listens(alone)[:, None], smoothed, alone)

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """Labels on many flipped graphs by the ElasticGNN's own loops, None where it has none."""
        alone = self.model.logits(task.features)
        fixed, listens = alone.argmax(1).byte(), self.listens(alone)
        fast = fast_smoother(self.model, task)
        if fast is None:
            return None
        return lambda flips: torch.where(listens, fast(flips).label, fixed)
