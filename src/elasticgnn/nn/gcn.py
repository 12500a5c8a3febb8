"""GCN (Kipf & Welling 2017)."""

from typing import Any

import torch
from torch import Tensor, nn

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

        weights = draw_gcn(in_channels, hidden_channels, out_channels)
        with torch.random.fork_rng(devices=[]):  # what the layers draw themselves is replaced
            first = GCNConv(hidden_channels, hidden_channels)
            second = GCNConv(hidden_channels, out_channels)
            linear = FeatureLinear(in_channels, hidden_channels, bias=False, glorot=True)
        first.lin = NoLinear()
        super().__init__(linear, first, second, dropout)
        self.load_state_dict(weights)

    def convolve_prepared(
        self, layer: Any, hidden: Tensor, prepared: GraphMatrix, noise: DropoutNoise | None = None
    ) -> Tensor:
        """A hidden W + b with the prepared, normalised A."""
        convolved: Tensor = prepared @ layer.lin(hidden) + layer.bias
        return convolved


def draw_gcn(in_channels: int, hidden_channels: int, out_channels: int) -> dict[str, Tensor]:
    """The weights of a new GCN by their names in it, from torch's global state.

    Batches of GCNs begin with these and need no torch_geometric, whose import takes seconds.
    """
    # GCNConv draws its weights twice, the first layer's for nothing: seeds keep their networks.
    for unused in (hidden_channels, hidden_channels, out_channels):
        glorot(unused, hidden_channels)
    second = glorot(out_channels, hidden_channels)
    return {
        "linear.weight": glorot(in_channels, hidden_channels),
        "first.bias": torch.zeros(hidden_channels),
        "second.bias": torch.zeros(out_channels),
        "second.lin.weight": second,
    }


def glorot(rows: int, columns: int) -> Tensor:
    """A matrix drawn uniformly from ±sqrt(6 / (rows + columns))."""
    return nn.init.xavier_uniform_(torch.empty(rows, columns))
