"""House prices on a street network with gaps: quarters of a town, and outliers among the sales.

    python docs/gallery/houses.py

Crossings of an irregular street grid are joined along streets; a river that two bridges cross
parts two quarters. Few crossings have a sale, and some prices are wrong by a factor of ten, which
Huber's loss takes as little notice of as of any other outlier. The data are invented. Writes
houses.png beside itself.
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
from elasticgnn.solver import Huber, minimise

RIVER = 0.55


def streets(side: int, generator: torch.Generator) -> tuple[Tensor, Graph]:
    """Positions (n, 2) of crossings, and streets between them: a grid with holes and a river."""
    across, up = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    place = torch.stack([across.flatten(), up.flatten()], 1).double() / side
    node = torch.arange(side * side).reshape(side, side)
    pairs = torch.cat(
        [
            torch.stack([node[:-1].flatten(), node[1:].flatten()]),
            torch.stack([node[:, :-1].flatten(), node[:, 1:].flatten()]),
        ],
        1,
    )
    wet = (place[pairs[0], 0] < RIVER) != (place[pairs[1], 0] < RIVER)
    bridge = torch.isin(pairs[0] % side, torch.tensor([side // 4, 3 * side // 4]))
    kept = (torch.rand(pairs.shape[1], generator=generator) < 0.85) & ~(wet & ~bridge)
    graph = Graph.from_edge_index(
        pairs[:, kept], side * side, undirected=True, normalization="none"
    )
    place = place + 0.25 / side * torch.randn(place.shape, generator=generator)
    return place, graph


def prices(place: Tensor) -> Tensor:
    """True prices (n,) in thousands: the centre, the far bank and the rest."""
    centre = (place - torch.tensor([0.3, 0.5])).norm(dim=1) < 0.2
    return torch.where(place[:, 0] > RIVER, 210.0, torch.where(centre, 480.0, 320.0)).double()


def draw(axis: Axes, place: Tensor, value: Tensor, graph: Graph, title: str) -> None:
    """Streets in grey, crossings coloured by price, those without a sale left out."""
    ends = torch.stack([graph.tail, graph.head], 1)
    axis.add_collection(LineCollection(list(place[ends].numpy()), colors="0.8", linewidths=0.7))
    here = ~value.isnan()
    dots = axis.scatter(
        *place[here].T.numpy(), c=value[here].numpy(), s=14, vmin=150, vmax=550, zorder=2
    )
    axis.set_title(title)
    axis.set_axis_off()
    axis.set_aspect("equal")
    axis.figure.colorbar(dots, ax=axis, shrink=0.7)


def main(folder: Path, side: int = 26) -> Path:
    """The path of the picture."""
    generator = torch.Generator().manual_seed(2)
    place, graph = streets(side, generator)
    truth = prices(place)
    count = len(truth)
    sold = torch.rand(count, generator=generator) < 0.4
    price = truth * (1 + 0.1 * torch.randn(count, generator=generator, dtype=torch.float64))
    wrong = sold & (torch.rand(count, generator=generator) < 0.05)
    price[wrong] *= 10
    error = {}
    for name, loss in (("squares", "squared"), ("Huber", Huber(40.0))):
        solution = minimise(
            price, graph, ElasticPenalty(18.0, 0.0), data_weight=sold.double(), loss=loss
        )
        print(f"{name}: {solution.summary()}")
        error[name] = float((solution.value - truth).abs().nanmean())
    print("mean error in thousands: " + ", ".join(f"{k} {v:.0f}" for k, v in error.items()))
    print(f"{int(solution.value.isnan().sum())} crossings without a street to any sale stay empty")
    figure = new_figure(3, panel=(4.0, 3.7))
    axes = figure.axes
    draw(axes[0], place, truth, graph, "true price, thousands")
    title = f"{int(sold.sum())} sales, {int(wrong.sum())} of them wrong"
    draw(axes[1], place, torch.where(sold, price, torch.nan), graph, title)
    draw(axes[2], place, solution.value, graph, f"Huber loss, mean error {error['Huber']:.0f}")
    figure.savefig(folder / "houses.png", dpi=110, bbox_inches="tight")
    return folder / "houses.png"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
