"""A multi-layer perceptron on node features: the rival without a graph, and every backbone."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise, TorchNoise
from elasticgnn.graph import Graph
from elasticgnn.kernels.transforms import is_batched
from elasticgnn.nn.feature_linear import FeatureLinear


class MLP(nn.Module):
    """`num_layers` linear layers with (batch norm,) relu between, dropout before each.

    Weights start as torch.nn.Linear's do: uniform in ±1/sqrt(fan in).

    >>> from elasticgnn.nn import MLP
    >>> MLP(16, 8, 2).eval()(task.features).shape
    torch.Size([60, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be >= 1, got {num_layers}")
        widths = [*[hidden_channels] * (num_layers - 1), out_channels]
        self.first = FeatureLinear(in_channels, widths[0])
        pairs = pairwise(widths)
        self.others = nn.ModuleList([nn.Linear(a, b) for a, b in pairs])
        norms = [nn.BatchNorm1d(width) for width in widths[:-1]] if batch_norm else []
        self.norms = nn.ModuleList(norms)
        self.dropout = dropout

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        for layer in (self.first, *self.others, *self.norms):
            layer.reset_parameters()

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | None = None,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out); the graph is ignored."""
        noise = noise_in_use(self, noise)
        hidden: Tensor = self.first(x, noise, self.dropout)
        for depth, layer in enumerate(self.others):
            if self.norms:
                hidden = self.norms[depth](hidden)
            hidden = torch.relu(hidden)
            if noise is not None:
                hidden = noise(hidden, self.dropout, depth + 1)
            hidden = layer(hidden)
        return hidden


def noise_in_use(model: nn.Module, noise: DropoutNoise | None) -> DropoutNoise | None:
    """`noise` while training (drawn from torch's generator if none is given), else None."""
    if not model.training:
        return None
    if noise is None and (is_batched() or torch.compiler.is_compiling()):
        return TorchNoise()
    return DropoutNoise.drawn(None) if noise is None else noise
