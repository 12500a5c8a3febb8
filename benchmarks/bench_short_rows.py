"""Rows of 9 to 16 floats: the packed loops against the wide ones, by edges per node.

Graphs with two kinds of neighbours (anywhere, near) and 2 to 16 edges per node; signals of 1 have
hardly any active rows beside lambda1 = 3, those of 100 hardly others. Both routes take turns on one
thread; processor time, the least of each.
    python benchmarks/bench_short_rows.py [--widths 10 16] [--edges 100000]
Prints how many times faster the wide loops are, and writes results/short_rows.json:
`WIDE_EDGES_PER_NODE` of src/elasticgnn/kernels/tuning.py is read from it.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.operator import packed, wide
from elasticgnn.operator.request import Options, make_request

STEPS, PENALTY, ROUNDS = 10, ElasticPenalty(3.0, 3.0), 5
ROUTES = {"packed": packed.run, "wide": wide.run}
OUTPUT = Path(__file__).resolve().parent / "results" / "short_rows.json"


def make_graph(neighbours: str, edges: int, per_node: int) -> Graph:
    """Nodes with so many edges each, to nodes anywhere or to the next 200."""
    generator, nodes = torch.Generator().manual_seed(0), edges // per_node
    tail = torch.randint(0, nodes, (edges,), generator=generator)
    reach = nodes if neighbours == "anywhere" else 200
    head = (tail + torch.randint(1, reach, (edges,), generator=generator)) % nodes
    return Graph.from_edge_index(torch.stack([tail, head]), nodes, undirected=True)


def seconds(route: str, x: Tensor, graph: Graph, *, gradient: bool) -> float:
    """Processor time of one call, its gradient included if asked for."""
    rows = x.clone().requires_grad_(gradient)
    request = make_request(rows, graph, PENALTY, STEPS, Options())
    begin = time.process_time()
    out = ROUTES[route](request)
    if gradient:
        out.backward(x)
    return time.process_time() - begin


def gains(x: Tensor, graph: Graph) -> dict[str, float]:
    """How many times faster the wide loops are, forward and with the gradient."""
    found = {}
    for name, gradient in (("forward", False), ("both", True)):
        best = dict.fromkeys(ROUTES, float("inf"))
        for _ in range(ROUNDS):
            for route in ROUTES:
                best[route] = min(best[route], seconds(route, x, graph, gradient=gradient))
        found[name] = round(best["packed"] / best["wide"], 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[10, 16])
    parser.add_argument("--edges", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    records = []
    for neighbours in ("anywhere", "near"):
        for per_node in (2, 4, 6, 8, 16):
            graph = make_graph(neighbours, options.edges, per_node)
            for width in options.widths:
                for size in (1.0, 100.0):
                    drawn = torch.Generator().manual_seed(1)
                    x = size * torch.randn(graph.num_nodes, width, generator=drawn)
                    about = {"neighbours": neighbours, "edges_per_node": per_node, "width": width}
                    records.append({**about, "size": size, **gains(x, graph)})
                    print(records[-1], flush=True)
    text = json.dumps({"date": time.strftime("%Y-%m-%d"), "records": records}, indent=1)
    OUTPUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
