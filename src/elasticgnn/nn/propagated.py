"""What networks share that first see each node alone and then its neighbours."""

from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.reset import reset


class Propagated(nn.Module):
    """smooth(logits(x), graph): the logits of a backbone, then a propagation without weights."""

    backbone: nn.Module

    def reset_parameters(self) -> None:
        """Draws the backbone's weights anew."""
        reset(self.backbone)

    def logits(self, x: Tensor | SparseFeatures, *, noise: DropoutNoise | None = None) -> Tensor:
        """The backbone's logits (n, out), before any smoothing."""
        logits: Tensor = self.backbone(x, noise=noise)
        return logits

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """The logits after propagation over the graph (n, out)."""
        raise NotImplementedError

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | None = None,
        edge_weight: Tensor | None = None,
        *,
        edge_index: Tensor | None = None,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Smoothed logits (n, out); the graph goes by the name edge_index too."""
        graph = self.one_graph(graph, edge_index)
        return self.smooth(self.logits(x, noise=noise), graph, edge_weight)

    @staticmethod
    def one_graph(graph: Graph | Tensor | None, edge_index: Tensor | None) -> Graph | Tensor:
        """The graph that was given, by either name."""
        graph = edge_index if graph is None else graph
        if graph is None or (edge_index is not None and edge_index is not graph):
            raise ValueError("graph or edge_index must be given, and not both")
        return graph
