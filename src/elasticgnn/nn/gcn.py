"""GCN (Kipf & Welling 2017)."""

from typing import Any

from torch import Tensor

from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import NormalizedAdjacency, prepare
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.mlp import noise_in_use
from elasticgnn.nn.two_convolutions import TwoConvolutions


class GCN(TwoConvolutions):
    """Two layers of torch_geometric's GCNConv."""

    prepare = staticmethod(prepare)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        from torch_geometric.nn import GCNConv

        first = GCNConv(hidden_channels, hidden_channels)
        first.lin = NoLinear()
        second = GCNConv(hidden_channels, out_channels)
        linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        super().__init__(linear, first, second, dropout)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | NormalizedAdjacency,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out)."""
        if not isinstance(graph, NormalizedAdjacency):
            return super().forward(x, graph, edge_weight, noise=noise)
        noise = noise_in_use(self, noise)
        first: Any = self.first
        second: Any = self.second
        hidden = self.activation(graph @ self.linear(x, noise, self.dropout) + first.bias)
        if noise is not None:
            hidden = noise(hidden, self.dropout, 1)
        logits: Tensor = graph @ second.lin(hidden) + second.bias
        return logits
