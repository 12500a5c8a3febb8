"""How the time of a call grows with edges, steps and channels, everything else held."""

from collections.abc import Callable, Iterable

import torch
from operator_graphs import power_law_graph

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.graph import grid_graph

Timer = Callable[[dict[str, Callable[[], object]], float], dict[str, float]]
PENALTY = ElasticPenalty(3.0, 3.0)
WIDTH, STEPS = 8, 10
MOST_STEPS = (1, 2, 5, 10, 20, 50, 100)
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)
SECONDS = 0.5


def linear_cost(largest: int, timer: Timer) -> dict[str, list[dict[str, float | str]]]:
    """Seconds of calls along each of the three, others at 100,000 edges, 10 steps, d = 8."""
    local = grid_of(100_000)
    cost = {
        "edges": list(along_edges(largest, timer)),
        "steps": [
            {"steps": steps, "seconds": seconds(local, WIDTH, steps, timer)} for steps in MOST_STEPS
        ],
        "width": [
            {"width": width, "seconds": seconds(local, width, STEPS, timer)} for width in WIDTHS
        ],
    }
    for name, unit in (("steps", "step"), ("width", "channel")):
        each = [1e9 * point["seconds"] / point[name] / local.num_edges for point in cost[name]]
        print(f"  ns per edge and {unit}: " + ", ".join(f"{value:.1f}" for value in each))
    return cost


def along_edges(largest: int, timer: Timer) -> Iterable[dict[str, float | str]]:
    """Grids, whose neighbours are near in memory, and random graphs, where every row is a miss."""
    for kind, build in (("grid", grid_of), ("random", lambda m: power_law_graph(m // 5, m))):
        edges = 10_000
        while edges <= largest:
            graph = build(edges)
            taken = seconds(graph, WIDTH, STEPS, timer)
            each = taken * 1e9 / graph.num_edges / STEPS
            print(f"  {kind:<6} {graph.num_edges:>10,} edges: {each:.2f} ns per edge and step")
            yield {"kind": kind, "edges": graph.num_edges, "seconds": taken}
            edges *= 10


def grid_of(edges: int) -> Graph:
    """A square grid of about `edges` edges."""
    side = round((edges / 2) ** 0.5) + 1
    return grid_graph(side, side).with_normalization("degree")


def seconds(graph: Graph, width: int, steps: int, timer: Timer) -> float:
    x = torch.randn(graph.num_nodes, width, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        call = {"fused": lambda: elastic_message_passing(x, graph, PENALTY, steps)}
        return timer(call, SECONDS)["fused"]
