"""A sensor network with missing values: three climate zones, half of the stations silent.

    python docs/gallery/sensors.py

Stations lie at random, each joined to its nearest neighbours; edge weights fall with distance.
Readings are noisy and half of them are missing: data weight 0. Writes sensors.png beside itself.
"""

import sys
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from torch import Tensor

from elasticgnn.figures import new_figure
from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise

STATIONS = 500
NEIGHBOURS = 5


def stations(generator: torch.Generator, count: int) -> tuple[Tensor, Tensor]:
    """Positions (n, 2) and true temperatures (n,): coast, plain and mountains."""
    place = torch.rand(count, 2, generator=generator, dtype=torch.float64)
    coast = place[:, 0] + 0.15 * torch.sin(6 * place[:, 1]) < 0.35
    mountain = (place - torch.tensor([0.75, 0.7])).norm(dim=1) < 0.25
    level = torch.where(coast, 18.0, torch.where(mountain, 6.0, 12.0))
    return place, level.double()


def nearest_graph(place: Tensor) -> Graph:
    """Each station joined to its nearest ones, nearer ones more firmly."""
    distance = torch.cdist(place, place).fill_diagonal_(torch.inf)
    near = distance.topk(NEIGHBOURS, largest=False).indices
    pairs = torch.stack([torch.arange(len(place)).repeat_interleave(NEIGHBOURS), near.flatten()])
    pairs = torch.unique(pairs.sort(0).values, dim=1)
    length = distance[pairs[0], pairs[1]]
    weight = torch.exp(-((length / length.median()) ** 2) / 2)
    return Graph.from_edge_index(pairs, len(place), weight, undirected=True, normalization="none")


def draw(axis: Axes, place: Tensor, value: Tensor, graph: Graph, title: str) -> None:
    """Edges in grey, stations coloured by temperature, silent ones as rings."""
    ends = torch.stack([graph.tail, graph.head], 1)
    axis.add_collection(LineCollection(list(place[ends].numpy()), colors="0.85", linewidths=0.7))
    here = ~value.isnan()
    axis.scatter(*place[here].T.numpy(), c=value[here].numpy(), s=16, vmin=4, vmax=20, zorder=2)
    axis.scatter(*place[~here].T.numpy(), s=10, facecolors="none", edgecolors="0.6", zorder=2)
    axis.set_title(title)
    axis.set_axis_off()
    axis.set_aspect("equal")


def main(folder: Path, count: int = STATIONS) -> Path:
    """The path of the picture."""
    generator = torch.Generator().manual_seed(4)
    place, truth = stations(generator, count)
    graph = nearest_graph(place)
    reading = truth + 1.5 * torch.randn(count, generator=generator, dtype=torch.float64)
    silent = torch.rand(count, generator=generator) < 0.5
    # a component without a reading cannot be filled: its first station speaks
    for label in range(graph.num_components):
        silent[(graph.component_labels == label).nonzero()[0]] = False
    reading[silent] = torch.nan
    solution = minimise(
        reading, graph, ElasticPenalty(1.2, 0.05), data_weight=(~silent).double(), rtol=1e-5
    )
    print(solution.summary())
    error = (solution.value - truth)[silent].abs().mean()
    print(f"mean error at silent stations {float(error):.2f} degrees, noise 1.5")
    figure = new_figure(3, panel=(3.67, 3.9))
    axes = figure.axes
    draw(axes[0], place, truth, graph, "truth")
    draw(axes[1], place, reading, graph, "readings: half are missing")
    draw(axes[2], place, solution.value, graph, f"interpolated, error {float(error):.2f}")
    figure.savefig(folder / "sensors.png", dpi=110, bbox_inches="tight")
    return folder / "sensors.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
