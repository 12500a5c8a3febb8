"""GCN (Kipf & Welling 2017)."""

from typing import Any

from torch import Tensor

from elasticgnn.extras import optional_imports
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn.adjacency import GraphMatrix, prepare_normalized
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions


class GCN(TwoConvolutions):
    """Two layers of torch_geometric's GCNConv.

    >>> from elasticgnn.nn import GCN
    >>> GCN(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prepare = staticmethod(prepare_normalized)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import GCNConv

        first = GCNConv(hidden_channels, hidden_channels)
        first.lin = NoLinear()
        second = GCNConv(hidden_channels, out_channels)
        linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        super().__init__(linear, first, second, dropout)

    def convolve_prepared(
        self, layer: Any, hidden: Tensor, prepared: GraphMatrix, noise: DropoutNoise | None = None
    ) -> Tensor:
        """A hidden W + b with the prepared, normalised A."""
        convolved: Tensor = prepared @ layer.lin(hidden) + layer.bias
        return convolved
