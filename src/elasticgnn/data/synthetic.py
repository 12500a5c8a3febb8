"""Made-up tasks of any size, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from elasticgnn.data.task import NodeTask
from elasticgnn.graph import Graph


def block_model(
    sizes: Sequence[int],
    generator: torch.Generator,
    *,
    inside: float = 0.1,
    between: float = 0.01,
    num_features: int = 16,
    signal: float = 1.0,
) -> NodeTask:
    """A stochastic block model: one block of nodes per class, normal features around its mean.

    Two nodes are joined with probability `inside` within a block and `between` across blocks;
    node i's features are signal * mean of its class + noise, both standard normal.

    >>> from elasticgnn.data import block_model
    >>> block_model([5, 7], generator, num_features=3).features.shape
    torch.Size([12, 3])
    """
    check_blocks(sizes, inside, between)
    labels = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    pairs = torch.triu_indices(len(labels), len(labels), offset=1)
    same = labels[pairs[0]] == labels[pairs[1]]
    chance = torch.where(same, inside, between)
    joined = pairs[:, torch.rand(len(chance), generator=generator) < chance]
    means = torch.randn(len(sizes), num_features, generator=generator)
    noise = torch.randn(len(labels), num_features, generator=generator)
    return NodeTask(
        name=f"block-model-{len(labels)}",
        graph=Graph.from_edge_index(joined, len(labels), undirected=True),
        features=signal * means[labels] + noise,
        labels=labels,
        class_names=tuple(f"block {number}" for number in range(len(sizes))),
        notes=("made up: stochastic block model",),
    )


def check_blocks(sizes: Sequence[int], inside: float, between: float) -> None:
    """Refuses fewer than two blocks, empty ones, and chances outside 0..1."""
    if len(sizes) < 2 or min(sizes) < 1:
        raise ValueError(f"sizes must be at least 2 numbers >= 1, got {list(sizes)}")
    for name, chance in (("inside", inside), ("between", between)):
        if not 0 <= chance <= 1:
            raise ValueError(f"{name} must be a probability in 0..1, got {chance}")
