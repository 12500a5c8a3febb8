"""GAT (Veličković et al. 2018)."""

from torch.nn.functional import elu

from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions


class GAT(TwoConvolutions):
    """Two layers of torch_geometric's GATConv; the heads share the hidden channels.

    Edge weights are not heard. Attention coefficients are not dropped out.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        heads: int = 8,
    ) -> None:
        from torch_geometric.nn import GATConv

        first = GATConv(hidden_channels, hidden_channels // heads, heads)
        first.lin = NoLinear()
        second = GATConv(hidden_channels, out_channels)
        linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        super().__init__(linear, first, second, dropout, weighted=False, activation=elu)
