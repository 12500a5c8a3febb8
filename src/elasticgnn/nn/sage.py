"""GraphSAGE (Hamilton et al. 2017)."""

from typing import Any

from torch import Tensor, nn

from elasticgnn.extras import optional_imports
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn.adjacency import GraphMatrix, prepare_mean
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions, first_rows


class GraphSAGE(TwoConvolutions):
    """Two layers of torch_geometric's SAGEConv (mean of the neighbours, and the node itself).

    Edge weights are ignored.

    >>> from elasticgnn.nn import GraphSAGE
    >>> GraphSAGE(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prepare = staticmethod(prepare_mean)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import SAGEConv

        linear = FeatureLinear(in_channels, 2 * hidden_channels)
        second = SAGEConv(hidden_channels, out_channels)
        super().__init__(linear, HalvesSAGE(hidden_channels), second, dropout, weighted=False)

    def convolve_prepared(
        self, layer: Any, hidden: Tensor, prepared: GraphMatrix, noise: DropoutNoise | None = None
    ) -> Tensor:
        """The mean over neighbours and the own row, each mapped."""
        if layer is self.first:
            neighbours, own = hidden.chunk(2, 1)
            return prepared @ neighbours + first_rows(own, len(prepared))
        # the mean of the mapped rows, which are shorter, is the mapped mean
        mapped: Tensor = prepared @ (hidden @ layer.lin_l.weight.T) + layer.lin_l.bias
        return mapped + layer.lin_r(first_rows(hidden, len(prepared)))


class HalvesSAGE(nn.Module):
    """SAGEConv whose two linear maps were applied before: halves (n, 2h) to (n, h)."""

    def __init__(self, hidden_channels: int) -> None:
        super().__init__()
        with optional_imports():
            from torch_geometric.nn import SAGEConv

        self.mean = SAGEConv(hidden_channels, hidden_channels, root_weight=False, bias=False)
        self.mean.lin_l = NoLinear()

    def reset_parameters(self) -> None:
        """Nothing of its own to reset."""

    def forward(self, halves: Tensor, edge_index: Tensor) -> Tensor:
        """The convolution of rows that are mapped already: neighbours' half, own half."""
        neighbours, own = halves.chunk(2, 1)
        return self.mean(neighbours.contiguous(), edge_index) + own
