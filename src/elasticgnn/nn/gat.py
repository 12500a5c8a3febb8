"""GAT (Veličković et al. 2018)."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import elu

from elasticgnn.extras import optional_imports
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn.attention import AttentionPattern, attend
from elasticgnn.nn.edges import NoLinear
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.two_convolutions import TwoConvolutions

FIRST_SITE, SECOND_SITE = 2, 3  # of the dropout masks; features and hidden rows have 0 and 1


class GAT(TwoConvolutions):
    """Two layers of torch_geometric's GATConv; the heads share the hidden channels.

    Edge weights are ignored. attention_dropout is the rate at which coefficients are dropped
    after the softmax (in GAT's own paper that of the inputs).

    >>> from elasticgnn.nn import GAT
    >>> GAT(16, 8, 2, heads=2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prepare = staticmethod(AttentionPattern.of)

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        heads: int = 8,
        attention_dropout: float = 0.0,
    ) -> None:
        with optional_imports():
            from torch_geometric.nn import GATConv

        rate = attention_dropout
        first = GATConv(hidden_channels, hidden_channels // heads, heads, dropout=rate)
        first.lin = NoLinear()
        second = GATConv(hidden_channels, out_channels, dropout=rate)
        linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        super().__init__(linear, first, second, dropout, weighted=False, activation=elu)
        self.attention_dropout = rate

    def convolve_prepared(
        self,
        layer: Any,
        hidden: Tensor,
        prepared: AttentionPattern,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """One attention layer over the prepared neighbours."""
        rows = layer.lin(hidden)
        target, source = (rows @ spread(part) for part in (layer.att_dst, layer.att_src))
        factor = self.factor(layer, target, prepared, noise)
        convolved: Tensor = attend(rows, target, source, prepared, factor) + layer.bias
        return convolved

    def factor(
        self, layer: Any, like: Tensor, prepared: AttentionPattern, noise: DropoutNoise | None
    ) -> Tensor | None:
        """Per slot and head: 0 where the coefficient is dropped, else 1 / (1 - rate)."""
        if noise is None or self.attention_dropout == 0:
            return None
        ones = like.new_ones(len(prepared.column), like.shape[1])
        site = FIRST_SITE if layer is self.first else SECOND_SITE
        return noise(ones, self.attention_dropout, site)


def spread(attention: Tensor) -> Tensor:
    """(1, h, c) as the matrix (h c, h) that takes each head's product with its own channels."""
    heads = attention.shape[1]
    own = torch.eye(heads, dtype=attention.dtype, device=attention.device)
    return (attention.view(heads, -1, 1) * own[:, None]).flatten(0, 1)
