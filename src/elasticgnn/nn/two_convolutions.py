"""What the convolutional rivals share: features in, two graph convolutions, logits out."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.inits import reset

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import GraphMatrix
from elasticgnn.nn.edges import edge_list
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.mlp import noise_in_use


class TwoConvolutions(nn.Module):
    """second(dropout(act(first(dropout(x) W)))), both convolutions from torch_geometric.

    A convolution is linear in its input, so the first one's weights W are applied to the
    (sparse) features beforehand and its own linear map is left out.
    """

    def __init__(
        self,
        linear: FeatureLinear,
        first: nn.Module,
        second: nn.Module,
        dropout: float,
        *,
        weighted: bool = True,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        self.linear = linear
        self.first = first
        self.second = second
        self.dropout = dropout
        self.weighted = weighted
        self.activation = activation

    def reset_parameters(self) -> None:
        for part in (self.linear, self.first, self.second):
            reset(part)

    def multiply(self, layer: Any, hidden: Tensor, matrix: GraphMatrix) -> Tensor:
        """What `layer` (the first or the second) makes of its input, with its graph prepared."""
        raise NotImplementedError

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | GraphMatrix,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out)."""
        noise = noise_in_use(self, noise)
        hidden: Tensor = self.linear(x, noise, self.dropout)
        edges = () if isinstance(graph, GraphMatrix) else self._edges(graph, edge_weight, hidden)
        hidden = self.activation(self._convolve(self.first, hidden, graph, edges))
        if noise is not None:
            hidden = noise(hidden, self.dropout, 1)
        return self._convolve(self.second, hidden, graph, edges)

    def _edges(
        self, graph: Graph | Tensor, edge_weight: Tensor | None, like: Tensor
    ) -> tuple[Tensor | None, ...]:
        index, weight = edge_list(graph, edge_weight, like)
        return (index, weight) if self.weighted else (index,)

    def _convolve(self, layer: nn.Module, rows: Tensor, graph: object, edges: Any) -> Tensor:
        if isinstance(graph, GraphMatrix):
            return self.multiply(layer, rows, graph)
        convolved: Tensor = layer(rows, *edges)
        return convolved
