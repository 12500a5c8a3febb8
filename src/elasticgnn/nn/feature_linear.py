"""A linear layer for node features, sparse or dense."""

import math

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.features.product import feature_product


class FeatureLinear(nn.Module):
    """x W + b with W stored as (in, out): a stored feature value touches one row of W.

    Initial weights as torch.nn.Linear's: uniform in ±1/sqrt(in_channels), bias included; with
    `glorot` as torch_geometric's convolutions: uniform in ±sqrt(6 / (in + out)), bias 0.

    >>> from elasticgnn.features import SparseFeatures
    >>> from elasticgnn.nn import FeatureLinear
    >>> FeatureLinear(5, 2)(SparseFeatures.identity(5)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self, in_channels: int, out_channels: int, bias: bool = True, glorot: bool = False
    ) -> None:
        super().__init__()
        self.glorot = glorot
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias anew."""
        bound = 1 / math.sqrt(max(len(self.weight), 1))
        if self.glorot:
            nn.init.xavier_uniform_(self.weight)
        else:
            nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            bias_bound = 0.0 if self.glorot else bound
            nn.init.uniform_(self.bias, -bias_bound, bias_bound)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        noise: DropoutNoise | None = None,
        dropout: float = 0.0,
    ) -> Tensor:
        """(n, out); with `noise` the input is dropped out at rate `dropout` first."""
        product = feature_product(x, self.weight, noise, dropout)
        return product if self.bias is None else product + self.bias

    def extra_repr(self) -> str:
        """The sizes, for the layer's `repr`."""
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, bias={self.bias is not None}"
