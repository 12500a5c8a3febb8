"""ChebNet (Defferrard et al. 2016) with polynomials of degree 1."""

from typing import Any

from torch import Tensor, nn

from elasticgnn.extras import optional_imports
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn.adjacency import GraphMatrix, prepare_laplacian
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions, first_rows


class ChebNet(TwoConvolutions):
    """Two layers of torch_geometric's ChebConv with K = 2 terms each.

    >>> from elasticgnn.nn import ChebNet
    >>> ChebNet(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prepare = staticmethod(prepare_laplacian)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import ChebConv

        linear = FeatureLinear(in_channels, 2 * hidden_channels, glorot=True)
        second = ChebConv(hidden_channels, out_channels, K=2)
        super().__init__(linear, HalvesCheb(hidden_channels), second, dropout)

    def convolve_prepared(
        self, layer: Any, hidden: Tensor, prepared: GraphMatrix, noise: DropoutNoise | None = None
    ) -> Tensor:
        """One Chebyshev convolution with the prepared matrix."""
        if layer is self.first:
            term0, term1 = hidden.chunk(2, 1)
            return prepared @ term1 + first_rows(term0, len(prepared))
        first, second = layer.lins
        own = first(first_rows(hidden, len(prepared)))
        convolved: Tensor = own + prepared @ second(hidden) + layer.bias
        return convolved


class HalvesCheb(nn.Module):
    """ChebConv whose linear maps were applied before: X W_0 + (L~ X) W_1 from (n, 2h)."""

    def __init__(self, hidden_channels: int) -> None:
        super().__init__()
        with optional_imports():
            from torch_geometric.nn import ChebConv

        # With lins = (identity, identity) the layer gives x + L~ x.
        self.terms = ChebConv(hidden_channels, hidden_channels, K=2, bias=False)
        self.terms.lins = nn.ModuleList([NoLinear(), NoLinear()])

    def reset_parameters(self) -> None:
        """Nothing of its own to reset."""

    def forward(self, halves: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        """The convolution of rows that are mapped already, a half per term."""
        term0, term1 = halves.chunk(2, 1)
        term1 = term1.contiguous()
        return self.terms(term1, edge_index, edge_weight) - term1 + term0
