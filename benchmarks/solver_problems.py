"""The signals and graphs of the solver's benchmark."""

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
