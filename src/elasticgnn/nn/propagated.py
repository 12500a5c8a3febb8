"""What networks share that first look at each node alone and then hear its neighbours."""

from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.reset import reset


class Propagated(nn.Module):
    """smooth(logits(x), graph): the logits of a backbone, then a propagation without weights."""

    backbone: nn.Module

    def reset_parameters(self) -> None:
        reset(self.backbone)

    def logits(self, x: Tensor | SparseFeatures, *, noise: DropoutNoise | None = None) -> Tensor:
        """What the backbone says of each node (n, out), before any neighbour is heard."""
        logits: Tensor = self.backbone(x, noise=noise)
        return logits

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """The logits after propagation over the graph (n, out)."""
        raise NotImplementedError

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Smoothed logits (n, out)."""
        return self.smooth(self.logits(x, noise=noise), graph, edge_weight)
