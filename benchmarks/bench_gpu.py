"""Elastic message passing on a GPU, as multiples of torch_geometric's APPNP and of K products.

    python benchmarks/bench_gpu.py [--steps 10] [--widths 16 40 64 128] [--output gpu.json]

Needs a CUDA or HIP device and the extras `gpu` and `models`. Contestants are interleaved within one
run and the median counts; a product is one torch.sparse CSR product (cuSPARSE or hipSPARSE). Before
a time is taken the result is compared with the plain version's.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import explain_route

SIZES = {  # nodes and edges, as those of the graphs that the names say
    "cora": (2_708, 5_278),
    "pubmed": (19_717, 44_324),
    "physics": (34_493, 247_962),
    "arxiv": (169_343, 1_166_243),
}
PENALTY = ElasticPenalty(0.3, 3.0)
REPEATS = 20


def random_graph(num_nodes: int, num_edges: int) -> Graph:
    """Edges whose ends are drawn by a power law, so that there are hubs."""
    generator = torch.Generator().manual_seed(0)
    ends = torch.rand(2, num_edges, generator=generator).pow(2) * num_nodes
    index = torch.unique(ends.long().sort(0).values, dim=1)
    return Graph.from_edge_index(index, num_nodes, undirected=True).to("cuda")


def contestants(graph: Graph, x: Tensor, steps: int) -> dict[str, Callable[[Tensor], Tensor]]:
    from torch_geometric.nn import APPNP

    index, _ = graph.to_edge_index()
    appnp = APPNP(K=steps, alpha=0.25, cached=True)
    matrix = graph.to_torch_sparse().to(x.dtype)

    def elastic(memory: str, implementation: str = "auto") -> Callable[[Tensor], Tensor]:
        options = {"memory": memory, "implementation": implementation}
        return lambda x: elastic_message_passing(x, graph, PENALTY, steps, **options)

    def products(x: Tensor) -> Tensor:
        for _ in range(steps):
            x = matrix @ x
        return x

    return {
        "products": products,
        "APPNP": lambda x: appnp(x, index),
        "plain": elastic("fast", "reference"),
        "fast": elastic("fast"),
        "lean": elastic("lean"),
        "half": elastic("half"),
    }


def milliseconds(call: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def measure(graph: Graph, width: int, steps: int) -> dict[str, dict[str, float]]:
    """Median milliseconds and peak bytes of each contestant, forward and with the gradient."""
    x = torch.randn(graph.num_nodes, width, device="cuda")
    assert explain_route(x, graph, PENALTY, steps).taken == "triton"
    runs = contestants(graph, x, steps)
    torch.testing.assert_close(runs["fast"](x), runs["plain"](x), rtol=1e-4, atol=1e-4)
    moving = x.clone().requires_grad_()

    def both(name: str) -> None:
        torch.autograd.grad(runs[name](moving).sum(), moving)

    times: dict[str, dict[str, list[float]]] = {n: {"forward": [], "both": []} for n in runs}
    for repeat in range(REPEATS + 3):  # the first three compile and warm up
        for name, run in runs.items():
            found = milliseconds(lambda run=run: run(x)), milliseconds(lambda n=name: both(n))
            if repeat >= 3:
                times[name]["forward"].append(found[0])
                times[name]["both"].append(found[1])
    out = {}
    for name in runs:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        both(name)
        out[name] = {kind: statistics.median(t) for kind, t in times[name].items()}
        out[name]["bytes"] = torch.cuda.max_memory_allocated() - before
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 40, 64, 128])
    parser.add_argument("--graphs", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("no CUDA or HIP device is available")
    records = []
    for name in options.graphs:
        graph = random_graph(*SIZES[name])
        for width in options.widths:
            found = measure(graph, width, options.steps)
            records.append({"graph": name, "width": width, "found": found})
            for contestant, row in found.items():
                ratios = [
                    f"{row[kind] / found[rival][kind]:6.2f} x {rival} {kind}"
                    for kind in ("forward", "both")
                    for rival in ("APPNP", "products")
                ]
                print(f"{name:8} d={width:<4} {contestant:9}", *ratios, f"{row['bytes']:,} bytes")
    if options.output:
        device = torch.cuda.get_device_name()
        options.output.write_text(json.dumps({"device": device, "records": records}, indent=1))


if __name__ == "__main__":
    main()
