"""What the convolutional rivals share: features in, two graph convolutions, logits out."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.adjacency import GraphMatrix
from elasticgnn.nn.attention import AttentionPattern
from elasticgnn.nn.edges import edge_list
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.field import FieldGraph
from elasticgnn.nn.mlp import noise_in_use
from elasticgnn.nn.reset import reset


class TwoConvolutions(nn.Module):
    """second(dropout(act(first(dropout(x) W)))), both convolutions from torch_geometric.

    A convolution is linear in its input, so the first one's weights W are applied to the
    (sparse) features beforehand and its own linear map is left out.
    """

    receptive_steps = 2  # a node's logits depend on its neighbours' neighbours, and on no others

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
        """Draws all weights anew."""
        reset(self.linear, self.first, self.second)

    def convolve_prepared(
        self, layer: Any, hidden: Tensor, prepared: Any, noise: DropoutNoise | None = None
    ) -> Tensor:
        """What `layer` (the first or the second) makes of its input, by what `prepare` gave."""
        raise NotImplementedError

    def convolve_in_field(
        self, layer: Any, hidden: Tensor, field: FieldGraph, noise: DropoutNoise | None
    ) -> Tensor:
        """The rows of the field that are right behind `layer`, from those before it."""
        prepared = field.first if layer is self.first else field.second
        count = field.sizes[1 if layer is self.first else 0]
        return first_rows(self.convolve_prepared(layer, hidden, prepared, noise), count)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor | GraphMatrix | AttentionPattern | FieldGraph,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out)."""
        noise = noise_in_use(self, noise)
        hidden: Tensor = self.linear(x, noise, self.dropout)
        convolve = self._convolution(graph, edge_weight, hidden, noise)
        hidden = self.activation(convolve(self.first, hidden))
        if noise is not None:
            hidden = noise(hidden, self.dropout, 1)
        return convolve(self.second, hidden)

    def _convolution(
        self,
        graph: Graph | Tensor | GraphMatrix | AttentionPattern | FieldGraph,
        edge_weight: Tensor | None,
        like: Tensor,
        noise: DropoutNoise | None,
    ) -> Callable[[nn.Module, Tensor], Tensor]:
        """How a layer is applied to rows."""
        if isinstance(graph, FieldGraph):
            return functools.partial(self.convolve_in_field, field=graph, noise=noise)
        if isinstance(graph, GraphMatrix | AttentionPattern):
            return functools.partial(self.convolve_prepared, prepared=graph, noise=noise)
        index, weight = edge_list(graph, edge_weight, like)
        edges = (index, weight) if self.weighted else (index,)
        return lambda layer, rows: layer(rows, *edges)


def first_rows(rows: Tensor, count: int) -> Tensor:
    """The first `count` rows; the tensor itself where it has no more, as its copy takes time."""
    return rows if len(rows) == count else rows[:count]
