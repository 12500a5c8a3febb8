"""GCN (Kipf & Welling 2017)."""

from typing import Any

from torch import Tensor

from elasticgnn.nn.adjacency import GraphMatrix, prepare_normalized
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions


class GCN(TwoConvolutions):
    """Two layers of torch_geometric's GCNConv."""

    prepare = staticmethod(prepare_normalized)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        from torch_geometric.nn import GCNConv

        first = GCNConv(hidden_channels, hidden_channels)
        first.lin = NoLinear()
        second = GCNConv(hidden_channels, out_channels)
        linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        super().__init__(linear, first, second, dropout)

    def convolve_prepared(self, layer: Any, hidden: Tensor, prepared: GraphMatrix) -> Tensor:
        convolved: Tensor = prepared @ layer.lin(hidden) + layer.bias
        return convolved
