"""Elastic steps between the layers of a network."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.graph import Graph
from elasticgnn.nn.elastic import propagation
from elasticgnn.problem import ElasticPenalty

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
    "none": lambda x: x,
}
JUMPS = ("last", "cat", "max")


class ElasticBlock(nn.Module):
    """activation(EMP(x W + b)) (n, out), plus x itself or a linear map of it where `residual`.

    >>> from elasticgnn.nn import ElasticBlock
    >>> ElasticBlock(16, 4).eval()(task.features, task.graph).shape
    torch.Size([60, 4])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        penalty: ElasticPenalty | None = None,
        K: int = 2,
        *,
        activation: str = "relu",
        residual: bool = True,
        learnable: bool | str = False,
        directed: str = "error",
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {(*ACTIVATIONS,)}, got {activation!r}")
        self.linear = nn.Linear(in_channels, out_channels)
        own = ElasticPenalty(0.3, 3.0) if penalty is None else penalty
        self.propagation = propagation(
            own, K, learnable=learnable, channels=out_channels, directed=directed
        )
        self.activation = activation
        same = in_channels == out_channels
        shortcut = nn.Identity() if same else nn.Linear(in_channels, out_channels, bias=False)
        self.shortcut = shortcut if residual else None

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        for part in (self.linear, self.propagation, self.shortcut):
            if not (part is None or isinstance(part, nn.Identity)):
                part.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """x (n, in) to (n, out)."""
        smoothed: Tensor = self.propagation(self.linear(x), edge_index, edge_weight)
        out = ACTIVATIONS[self.activation](smoothed)
        if self.shortcut is not None:
            out = out + self.shortcut(x)
        return out


class ElasticStack(nn.Module):
    """Logits (n, out) of `num_layers` elastic blocks and a linear layer on what they leave.

    `jump` (jumping knowledge) says what that is: the "last" block's rows, all blocks' rows side by
    side ("cat"), or the largest entry over the blocks ("max").

    >>> from elasticgnn.nn import ElasticStack
    >>> ElasticStack(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        penalty: ElasticPenalty | None = None,
        K: int = 2,
        *,
        jump: str = "last",
        residual: bool = True,
        dropout: float = 0.5,
        learnable: bool | str = False,
        directed: str = "error",
    ) -> None:
        super().__init__()
        if jump not in JUMPS:
            raise ValueError(f"jump must be one of {JUMPS}, got {jump!r}")
        if num_layers < 1:
            raise ValueError(f"num_layers must be >= 1, got {num_layers}")
        widths = [in_channels, *[hidden_channels] * (num_layers - 1)]
        options: dict[str, Any] = {"learnable": learnable, "directed": directed}
        self.blocks = nn.ModuleList(
            ElasticBlock(width, hidden_channels, penalty, K, residual=residual, **options)
            for width in widths
        )
        self.jump, self.dropout = jump, nn.Dropout(dropout)
        seen = hidden_channels * (num_layers if jump == "cat" else 1)
        self.readout = nn.Linear(seen, out_channels)

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        for part in (*self.blocks, self.readout):
            part.reset_parameters()

    def forward(
        self, x: Tensor, edge_index: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """x (n, in) to logits (n, out)."""
        rows = []
        for block in self.blocks:
            x = block(self.dropout(x), edge_index, edge_weight)
            rows.append(x)
        if self.jump == "cat":
            x = torch.cat(rows, -1)
        elif self.jump == "max":
            x = torch.stack(rows).amax(0)
        logits: Tensor = self.readout(self.dropout(x))
        return logits
