"""Counts on a grid: rates of rare events, fitted with the Poisson loss.

    python docs/gallery/counts.py

Events are counted in the cells of a map whose rate is low, with two regions of higher ones. The
signal is the logarithm of the rate, `Solution.mean` the rate; lambda1 is chosen by the deviance at
held-out cells. The data are invented. Writes counts.png beside itself.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn.figures import new_figure
from elasticgnn.graph import grid_graph
from elasticgnn.solver import Extras, cross_validate


def rates(side: int) -> Tensor:
    """True rates (side, side): 0.5, with a disc of 4 and a bar of 2."""
    line = torch.linspace(0, 1, side, dtype=torch.float64)
    up, across = torch.meshgrid(line, line, indexing="ij")
    disc = (up - 0.35) ** 2 + (across - 0.3) ** 2 < 0.04
    bar = (up > 0.7) & (up < 0.85) & (across > 0.4)
    return torch.where(disc, 4.0, torch.where(bar, 2.0, 0.5)).double()


def main(folder: Path, side: int = 40) -> Path:
    """The path of the picture."""
    generator = torch.Generator().manual_seed(0)
    truth = rates(side)
    counts = torch.poisson(truth, generator=generator)
    chosen = cross_validate(
        counts.flatten(),
        grid_graph(side, side, normalization="none"),
        [0.4, 0.8, 1.6],
        extras=Extras("poisson"),
        generator=generator,
    )
    print(chosen.solution.summary())
    print(chosen.summary())
    fitted = chosen.solution.mean.reshape(side, side)
    error = float((fitted - truth).abs().mean())
    before = float((counts - truth).abs().mean())
    print(f"mean error of the rate {error:.2f}, of the counts {before:.2f}")
    figure = new_figure(3, panel=(3.67, 3.7))
    axes = figure.axes
    titles = (
        "true rate",
        f"counts, 0 to {int(counts.max())}",
        f"fitted rate, mean error {error:.2f}",
    )
    for axis, picture, title in zip(axes, (truth, counts, fitted), titles, strict=True):
        shown = axis.imshow(picture.numpy(), vmin=0, vmax=6)
        axis.set_title(title)
        axis.set_axis_off()
    figure.colorbar(shown, ax=axes, shrink=0.8)
    figure.savefig(folder / "counts.png", dpi=110, bbox_inches="tight")
    return folder / "counts.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
