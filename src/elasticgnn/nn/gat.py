"""GAT (Veličković et al. 2018)."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import elu

from elasticgnn.nn.attention import AttentionPattern, attend
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions


class GAT(TwoConvolutions):
    """Two layers of torch_geometric's GATConv; the heads share the hidden channels.

    Edge weights are not heard. Attention coefficients are not dropped out.
    """

    prepare = staticmethod(AttentionPattern.of)

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

    def convolve_prepared(self, layer: Any, hidden: Tensor, prepared: AttentionPattern) -> Tensor:
        rows = layer.lin(hidden)
        target, source = (rows @ spread(part) for part in (layer.att_dst, layer.att_src))
        convolved: Tensor = attend(rows, target, source, prepared) + layer.bias
        return convolved


def spread(attention: Tensor) -> Tensor:
    """(1, h, c) as the matrix (h c, h) that takes each head's product with its own channels."""
    heads = attention.shape[1]
    own = torch.eye(heads, dtype=attention.dtype, device=attention.device)
    return (attention.view(heads, -1, 1) * own[:, None]).flatten(0, 1)
