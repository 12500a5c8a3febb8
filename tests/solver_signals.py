"""Small signals of known shape."""

import torch
from torch import Tensor

from elasticgnn.graph import Graph


def chain(nodes: int, normalization: str = "none") -> Graph:
    edges = [(i, i + 1) for i in range(nodes - 1)]
    return Graph.from_edges(edges, nodes, normalization=normalization)


def steps(generator: torch.Generator, *, nodes: int = 120, channels: int = 1) -> Tensor:
    """Three flat stretches with noise of 0.2: (nodes, channels)."""
    levels = torch.tensor([0.0, 2.0, -1.0], dtype=torch.float64)
    clean = levels.repeat_interleave(nodes // 3)[:, None].expand(-1, channels)
    return clean + 0.2 * torch.randn(clean.shape, generator=generator, dtype=torch.float64)


def random_graph(seed: int, nodes: int = 10, normalization: str = "degree") -> Graph:
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.rand(nodes, nodes, generator=generator).triu(1) > 0.6
    index = pairs.nonzero().T
    weight = 0.5 + torch.rand(index.shape[1], generator=generator, dtype=torch.float64)
    return Graph.from_edge_index(index, nodes, weight, undirected=True, normalization=normalization)
