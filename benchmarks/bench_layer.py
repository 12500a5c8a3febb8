"""EMP beside torch_geometric's APPNP as layers in a training loop: forward and backward, K = 10.

"batches": 32 small graphs a batch, and every call gets an edge_index that was never seen before.
"learned weights": one graph of PubMed's or Physics' size, whose edge weights get a gradient too.
Both layers take turns; processor time on one thread, the least of all turns.
    python benchmarks/bench_layer.py [--rounds 20] [--output benchmarks/results/layer.json]
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from operator_graphs import power_law_graph
from torch import Tensor
from torch_geometric.nn import APPNP

from elasticgnn.nn import EMP

ROOT = Path(__file__).resolve().parent
STEPS, WIDTHS = 10, (16, 64)
LAYERS = {"APPNP": APPNP(K=STEPS, alpha=0.25), "EMP": EMP(K=STEPS, lambda1=3.0, lambda2=3.0)}
# nodes and drawn edges of each of 32 graphs: about those of MUTAG, PROTEINS and IMDB-BINARY
BATCHES = {"molecules": (18, 20), "proteins": (39, 75), "films": (20, 110)}
SIZES = {"PubMed's size": (19_717, 44_324), "Physics' size": (34_493, 247_962)}
Call = Callable[[torch.nn.Module], None]


def batch(nodes: int, edges: int, generator: torch.Generator, graphs: int = 32) -> Tensor:
    """The edge_index of `graphs` random graphs side by side, both directions."""
    ends = torch.randint(0, nodes, (2, graphs, edges), generator=generator)
    ends = (ends + nodes * torch.arange(graphs)[:, None]).flatten(1).sort(0).values
    ends = torch.unique(ends[:, ends[0] < ends[1]], dim=1)
    return torch.cat([ends, ends.flip(0)], 1)


def batch_call(nodes: int, edges: int, width: int) -> tuple[Call, int]:
    generator = torch.Generator().manual_seed(0)
    index = batch(nodes, edges, generator)
    x = torch.randn(32 * nodes, width, generator=generator)

    def call(layer: torch.nn.Module) -> None:
        layer(x.clone().requires_grad_(), index.clone()).backward(x)

    return call, index.shape[1]


def weights_call(nodes: int, edges: int, width: int) -> tuple[Call, int]:
    generator = torch.Generator().manual_seed(0)
    index = power_law_graph(nodes, edges).to_edge_index()[0]
    x = torch.randn(nodes, width, generator=generator)
    learned = (0.5 + torch.rand(edges, generator=generator)).requires_grad_()

    def call(layer: torch.nn.Module) -> None:
        layer(x.clone().requires_grad_(), index, learned.repeat(2)).backward(x)

    return call, index.shape[1]


def least(call: Call, rounds: int, calls: int) -> dict[str, float]:
    """Seconds of one call for each layer."""
    found: dict[str, float] = {}
    for _ in range(rounds):
        for name, layer in LAYERS.items():
            begin = time.process_time()
            for _ in range(calls):
                call(layer)
            seconds = (time.process_time() - begin) / calls
            found[name] = min(found.get(name, seconds), seconds)
    return found


def measure(rounds: int) -> Iterator[dict[str, object]]:
    kinds = (("batches", BATCHES, batch_call, 3), ("learned weights", SIZES, weights_call, 1))
    for kind, graphs, make, calls in kinds:
        for name, (nodes, edges) in graphs.items():
            for width in WIDTHS:
                call, columns = make(nodes, edges, width)
                call(LAYERS["EMP"])
                seconds = least(call, rounds if calls > 1 else -(-rounds // 4), calls)
                ratio = seconds["EMP"] / seconds["APPNP"]
                text = f"{kind:>16} {name:>14} d={width:<3} "
                print(text + f"{1e3 * seconds['EMP']:8.2f} ms, {ratio:.2f} of APPNP's", flush=True)
                about = {"kind": kind, "graph": name, "columns": columns, "width": width}
                yield {**about, **seconds, "share of APPNP's time": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "layer.json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    records = list(measure(options.rounds))
    text = json.dumps({"date": time.strftime("%Y-%m-%d"), "records": records}, indent=1)
    options.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
