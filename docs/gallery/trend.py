"""A piecewise linear trend: a daily reading whose growth changes twice, with days missing.

    python docs/gallery/trend.py

Trend filtering of order 1 with free ends leaves straight lines alone; its knots are the days on
which the slope changes. The data are invented. Writes trend.png beside itself.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn.figures import COLOURS, new_figure
from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise


def readings(days: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Readings and weights (n,): growth from a third of the days on, decline from two thirds on."""
    day = torch.arange(float(days), dtype=torch.float64)
    truth = 20 + 2.0 * (day - days / 3).clamp(min=0) - 5.0 * (day - 2 * days / 3).clamp(min=0)
    reading = truth + 6 * torch.randn(days, generator=generator, dtype=torch.float64)
    return reading, (torch.rand(days, generator=generator) > 0.15).double()


def main(folder: Path, days: int = 180) -> Path:
    """The path of the picture."""
    reading, seen = readings(days, torch.Generator().manual_seed(0))
    node = torch.arange(days)
    index = torch.stack([node[:-1], node[1:]])
    chain = Graph.from_edge_index(index, days, undirected=True, normalization="none")
    solution = minimise(
        reading, chain, ElasticPenalty(3e3, 0.0), order=1, boundary="free", data_weight=seen
    )
    print(solution.summary())
    print(f"the slope changes at days {solution.knots().tolist()}")
    figure = new_figure(panel=(9.0, 3.2))
    axis = figure.axes[0]
    axis.plot(node[seen > 0], reading[seen > 0], ".", color="0.6")
    axis.plot(node, solution.value, color=COLOURS[0])
    for knot in solution.knots().tolist():
        axis.axvline(knot, color=COLOURS[1], linewidth=0.8)
    axis.set_xlabel("day")
    axis.set_ylabel("reading")
    figure.savefig(folder / "trend.png", dpi=110, bbox_inches="tight")
    return folder / "trend.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
