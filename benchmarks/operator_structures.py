"""Five structures of graphs from generators: how many neighbours there are, and how far away."""

import torch
from torch import Tensor

from elasticgnn import Graph


def dense(generator: torch.Generator) -> Graph:
    """18,660 nodes, about 790,000 edges: a social graph with degrees spread over two decades."""
    n, wanted = 18_660, 815_000
    popularity = torch.rand(n, generator=generator).add(0.02).pow(-0.7)
    return _graph(_drawn(popularity, (2, wanted), generator), n)


def hubs(generator: torch.Generator) -> Graph:
    """36,692 nodes, about 180,000 edges: e-mail, where few nodes have most edges."""
    n, wanted = 36_692, 260_000
    popularity = torch.arange(1, n + 1).pow(-0.85)[torch.randperm(n, generator=generator)]
    return _graph(_drawn(popularity, (2, wanted), generator), n)


def mostly_near(generator: torch.Generator) -> Graph:
    """169,343 nodes, about 1,166,000 edges: 70 % lead to a near number, 30 % anywhere."""
    n, wanted = 169_343, 1_168_000
    tail = torch.randint(0, n, (wanted,), generator=generator)
    near = tail + torch.randint(1, 200, (wanted,), generator=generator)
    far = torch.randint(0, n, (wanted,), generator=generator)
    is_near = torch.rand(wanted, generator=generator) < 0.7
    return _graph(torch.stack([tail, torch.where(is_near, near, far) % n]), n)


def power_law(generator: torch.Generator) -> Graph:
    """262,144 nodes, about 1,400,000 edges: a recursive matrix with the usual quarters."""
    scale, wanted = 18, 1_600_000
    ends = torch.zeros(2, wanted, dtype=torch.int64)
    for _ in range(scale):
        quarter = torch.multinomial(
            torch.tensor([0.57, 0.19, 0.19, 0.05]), wanted, True, generator=generator
        )
        ends = 2 * ends + torch.stack([quarter // 2, quarter % 2])
    return _graph(ends, 1 << scale)


def roads(generator: torch.Generator) -> Graph:
    """250,000 crossings of a grid with a third of the streets closed."""
    side = 500
    node = torch.arange(side * side).view(side, side)
    across = torch.stack([node[:, :-1].reshape(-1), node[:, 1:].reshape(-1)])
    down = torch.stack([node[:-1].reshape(-1), node[1:].reshape(-1)])
    edges = torch.cat([across, down], 1)
    return _graph(edges[:, torch.rand(edges.shape[1], generator=generator) > 0.33], side * side)


STRUCTURES = {
    "dense": dense,
    "hubs": hubs,
    "70 % near": mostly_near,
    "power law": power_law,
    "roads": roads,
}


def _drawn(popularity: Tensor, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Nodes drawn in proportion to their popularity."""
    count = shape[0] * shape[1]
    edges = torch.cumsum(popularity.double(), 0)
    where = torch.rand(count, generator=generator, dtype=torch.float64) * edges[-1]
    return torch.searchsorted(edges, where).clamp(max=len(popularity) - 1).view(shape)


def _graph(ends: Tensor, num_nodes: int) -> Graph:
    return Graph.from_edge_index(ends, num_nodes, undirected=True)
