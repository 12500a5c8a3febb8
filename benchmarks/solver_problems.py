"""The signals and graphs of the solver's benchmark."""

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph

NOISE = 0.5
CELLS = 30


def cells(side: int, channels: int, seed: int = 1) -> Tensor:
    """Thirty Voronoi cells with levels of spread 2, plus noise of 0.5: (side^2, channels)."""
    generator = torch.Generator().manual_seed(seed)
    centers = side * torch.rand(CELLS, 2, generator=generator)
    levels = 2 * torch.randn(CELLS, channels, generator=generator)
    axis = torch.arange(side).float()
    places = torch.cartesian_prod(axis, axis)
    nearest = torch.cat([torch.cdist(part, centers).argmin(1) for part in places.split(100_000)])
    noise = torch.randn(side * side, channels, generator=generator)
    return (levels[nearest] + NOISE * noise).double()


def cora() -> tuple[Tensor, Graph]:
    """The classes of Cora as seven columns of 0 and 1 with noise of 0.5, degree-normalised."""
    from elasticgnn.data import load

    task = load("cora")
    generator = torch.Generator().manual_seed(0)
    classes = torch.nn.functional.one_hot(task.labels.clamp_min(0)).double()
    return classes + NOISE * torch.randn(
        classes.shape, generator=generator, dtype=torch.float64
    ), task.graph


def chain(nodes: int) -> Graph:
    """Nodes in a row."""
    node = torch.arange(nodes)
    return _plain(torch.stack([node[:-1], node[1:]]), nodes)


def random_tree(nodes: int, rng: np.random.Generator) -> Graph:
    """Every node hangs on one before it, with a random weight."""
    parent = (rng.random(nodes - 1) * np.arange(1, nodes)).astype(np.int64)
    index = torch.from_numpy(np.stack([parent, np.arange(1, nodes)]))
    return _plain(index, nodes, torch.from_numpy(rng.exponential(size=nodes - 1)))


def roads(wanted: int, seed: int = 3) -> tuple[Graph, np.ndarray]:
    """About so many nodes of a street network, and their places (n, 2).

    Crossings of a square grid, a third of its streets closed; each street bends at one to three
    points, so that most nodes have two neighbours, as in maps.
    """
    rng = np.random.default_rng(seed)
    side = round((wanted / 3.68) ** 0.5)  # 2 (1 - 1/3) streets with two bends on average
    node = np.arange(side * side).reshape(side, side)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], 1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], 1)
    street = np.concatenate([across, down])
    street = street[rng.random(len(street)) > 1 / 3]
    bends = rng.integers(1, 4, len(street))
    first = side * side + np.concatenate([[0], np.cumsum(bends)])  # each street's first bend
    count = int(first[-1])
    owner = np.repeat(np.arange(len(street)), bends)
    number = np.arange(side * side, count)
    before = np.where(number == first[owner], street[owner, 0], number - 1)
    index = np.concatenate([np.stack([before, number]), np.stack([first[1:] - 1, street[:, 1]])], 1)
    share = (number - first[owner] + 1) / (bends[owner] + 1)
    corner = np.stack([np.arange(side * side) // side, np.arange(side * side) % side], 1) * 1.0
    ends = corner[street[owner]]
    bend = ends[:, 0] + share[:, None] * (ends[:, 1] - ends[:, 0])
    return _plain(torch.from_numpy(index), count), np.concatenate([corner, bend])


def _plain(index: Tensor, nodes: int, weight: Tensor | None = None) -> Graph:
    return Graph.from_edge_index(index, nodes, weight, undirected=True, normalization="none")
