"""An image: flat areas and sharp edges, with colour noise.

    python docs/gallery/image.py

Draws a scene, adds noise, chooses lambda1 by Stein's estimate and writes image.png beside itself.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn.figures import new_figure
from elasticgnn.graph import Graph, grid_graph
from elasticgnn.solver import Selection, cross_validate, noise_grid

SIDE = 72
NOISE = 0.15


def scene(side: int) -> Tensor:
    """Sky, sun, hill and a house with a door: (side, side, 3) in [0, 1]."""
    down, across = torch.meshgrid(
        *[torch.linspace(0, 1, side, dtype=torch.float64)] * 2, indexing="ij"
    )
    picture = torch.empty(side, side, 3, dtype=torch.float64)
    picture[:] = torch.tensor([0.55, 0.75, 0.95])
    picture[(across - 0.8).square() + (down - 0.2).square() < 0.01] = torch.tensor(
        [0.98, 0.85, 0.2]
    ).double()
    picture[down > 0.75 - 0.15 * torch.sin(3 * across)] = torch.tensor([0.3, 0.6, 0.3]).double()
    house = (across > 0.25) & (across < 0.55) & (down > 0.45) & (down < 0.85)
    roof = (down > 0.25) & (down <= 0.45) & ((across - 0.4).abs() < (down - 0.25) * 0.9)
    door = (across > 0.36) & (across < 0.44) & (down > 0.65) & (down < 0.85)
    for where, colour in (
        (house, [0.9, 0.85, 0.75]),
        (roof, [0.7, 0.25, 0.2]),
        (door, [0.35, 0.2, 0.1]),
    ):
        picture[where] = torch.tensor(colour, dtype=torch.float64)
    return picture


def denoise(noisy: Tensor, graph: Graph, generator: torch.Generator) -> Selection:
    """The best of a few lambda1 by Stein's estimate, the three colours coupled ("l21")."""
    everywhere = torch.ones(len(noisy))
    grid = noise_grid(noisy, graph, everywhere, count=6)
    return cross_validate(noisy, graph, grid, criterion="sure", generator=generator)


def main(folder: Path, side: int = SIDE) -> Path:
    """The path of the picture."""
    generator = torch.Generator().manual_seed(0)
    clean = scene(side)
    noise = torch.randn(clean.shape, generator=generator, dtype=torch.float64)
    noisy = clean + NOISE * noise
    found = denoise(noisy.reshape(-1, 3), grid_graph(side, side), generator)
    smooth = found.solution.value.reshape(clean.shape)
    print(found.solution.summary())
    before, after = (float((rows - clean).square().mean()) for rows in (noisy, smooth))
    print(f"lambda1 {found.lambda1:.3g}, mean squared error {before:.4f} before, {after:.4f} after")
    figure = new_figure(3, panel=(3.33, 3.6))
    axes = figure.axes
    titles = ("truth", f"noise {NOISE}", f"denoised, lambda1 = {found.lambda1:.2g}")
    for axis, rows, title in zip(axes, (clean, noisy, smooth), titles, strict=True):
        axis.imshow(rows.clamp(0, 1).numpy(), interpolation="nearest")
        axis.set_title(title)
        axis.set_axis_off()
    figure.savefig(folder / "image.png", dpi=110, bbox_inches="tight")
    return folder / "image.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
