"""A copy-number profile: a noisy chain of probes cut into segments with their levels.

    python docs/gallery/copynumber.py

The log ratios are invented: five segments of one chromosome, and a stretch without probes. The
strength is chosen by held-out probes; the intervals hold although the segments were chosen from
the data (piece_intervals). Writes copynumber.png beside itself.
"""

import sys
from pathlib import Path

import torch
from matplotlib.axes import Axes
from torch import Tensor

from elasticgnn.figures import COLOURS, new_figure
from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import PieceIntervals, cross_validate, noise_grid, piece_intervals

LEVELS = (0.0, 0.58, 0.0, -1.0, 0.0)
NOISE = 0.25


def profile(probes: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Truth, readings and their weights (n,): 0 in the stretch without probes."""
    length = probes // len(LEVELS)
    truth = torch.tensor(LEVELS, dtype=torch.float64).repeat_interleave(length)
    reading = truth + NOISE * torch.randn(len(truth), generator=generator, dtype=torch.float64)
    seen = torch.ones(len(truth))
    seen[length // 3 : length // 2] = 0.0
    return truth, reading, seen


def draw(axis: Axes, reading: Tensor, seen: Tensor, found: PieceIntervals) -> None:
    """Readings as dots, levels as lines, their intervals as bands."""
    here = seen > 0
    place = torch.arange(len(reading))
    axis.plot(place[here], reading[here], ".", color="0.7", markersize=3)
    for piece in range(len(found.size)):
        nodes = (found.pieces == piece).nonzero().flatten()
        ends = [int(nodes[0]) - 0.5, int(nodes[-1]) + 0.5]
        low, high = float(found.low[piece, 0]), float(found.high[piece, 0])
        axis.fill_between(ends, low, high, color=COLOURS[0], alpha=0.3, linewidth=0)
        axis.plot(ends, [float(found.level[piece, 0])] * 2, color=COLOURS[0])
    axis.set_xlabel("probe")
    axis.set_ylabel("log ratio")


def main(folder: Path, probes: int = 1000) -> Path:
    """The path of the picture."""
    generator = torch.Generator().manual_seed(2)
    _, reading, seen = profile(probes, generator)
    node = torch.arange(len(reading))
    index = torch.stack([node[:-1], node[1:]])
    chain = Graph.from_edge_index(index, len(node), undirected=True, normalization="none")
    grid = noise_grid(reading, chain, seen)
    chosen = cross_validate(
        reading,
        chain,
        grid,
        data_weight=seen,
        rule="one-standard-error",
        generator=generator,
    )
    print(chosen.summary())
    print(chosen.solution.summary())
    penalty = ElasticPenalty(2 * chosen.lambda1, 0.0)
    found = piece_intervals(
        reading, chain, penalty, chosen.sigma, data_weight=seen, generator=generator
    )
    print(f"{len(found.size)} segments")
    figure = new_figure(panel=(9.0, 3.2))
    axis = figure.axes[0]
    draw(axis, reading, seen, found)
    figure.savefig(folder / "copynumber.png", dpi=110, bbox_inches="tight")
    return folder / "copynumber.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
