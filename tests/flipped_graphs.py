"""Random graphs and lists of flips for tests of what is computed on many graphs at once."""

import torch

from elasticgnn.graph import Graph
from elasticgnn.operator.flipped import FlipLists


def random_graph(nodes: int, edges: int, generator: torch.Generator) -> Graph:
    keys = torch.randperm(nodes * nodes, generator=generator)
    pairs = torch.stack((keys // nodes, keys % nodes), 1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]][:edges]
    return Graph.from_edge_index(pairs.T, nodes, undirected=True)


def random_flips(nodes: int, lists: int, longest: int, generator: torch.Generator) -> FlipLists:
    """Lists of different lengths, the empty one among them."""
    parts = []
    for number in range(lists):
        keys = torch.randperm(nodes * nodes, generator=generator)
        pairs = torch.stack((keys // nodes, keys % nodes), 1)
        parts.append(pairs[pairs[:, 0] < pairs[:, 1]][: number % (longest + 1)])
    first = torch.tensor([0, *(len(part) for part in parts)]).cumsum(0)
    return FlipLists(torch.cat(parts).int(), first)
