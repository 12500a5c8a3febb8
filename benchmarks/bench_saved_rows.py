"""What keeping the memory of saved rows from call to call is worth, forward and backward.

Active rows are saved for the gradient (operator/saved_rows.py): signals of 1 have hardly any beside
lambda1 = 3, those of 100 hardly others. Calls with reused and with fresh memory are interleaved
on one thread; processor time, the least of each.
    python benchmarks/bench_saved_rows.py [--structures dense hubs roads] [--widths 5 8 16 40]
Prints the ratios, and writes results/saved_rows.json.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import torch
from operator_structures import STRUCTURES
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import saved_rows

STEPS, PENALTY, ROUNDS = 10, ElasticPenalty(3.0, 3.0), 5
OUTPUT = Path(__file__).resolve().parent / "results" / "saved_rows.json"


def seconds(x: Tensor, graph: Graph, *, reuse: bool) -> float:
    """Processor time of a call and its gradient, with reused memory or fresh one."""
    saved_rows.CAN_LEND = reuse
    rows = x.clone().requires_grad_()
    begin = time.process_time()
    elastic_message_passing(rows, graph, PENALTY, STEPS).backward(x)
    return time.process_time() - begin


def measure(structure: str, graph: Graph, width: int, size: float) -> dict[str, object]:
    """Both kinds of calls on one signal."""
    x = size * torch.randn(graph.num_nodes, width, generator=torch.Generator().manual_seed(1))
    best = {"kept": float("inf"), "fresh": float("inf")}
    for _ in range(ROUNDS):
        saved_rows.pool.clear()
        best["fresh"] = min(best["fresh"], seconds(x, graph, reuse=False))
        seconds(x, graph, reuse=True)  # the first one finds nothing kept
        best["kept"] = min(best["kept"], seconds(x, graph, reuse=True))
    times = {f"{name}_seconds": least for name, least in best.items()}
    about = {"structure": structure, "width": width, "size": size}
    return {**about, "saved_bytes": saved_rows.pool.most, **times}


def line(r: dict) -> str:
    """A row of the printed table."""
    text = f"{r['structure']:>10} d={r['width']:<3} signal {r['size']:<5g}"
    text += f" {r['saved_bytes'] / 1e6:7.1f} MB saved, kept {1e3 * r['kept_seconds']:7.1f} ms,"
    return text + f" {r['fresh_seconds'] / r['kept_seconds']:.2f} times as fast as fresh memory"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--structures", nargs="+", default=["dense", "hubs", "roads"])
    parser.add_argument("--widths", type=int, nargs="+", default=[5, 8, 16, 40])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    records = []
    for structure in options.structures:
        graph = STRUCTURES[structure](torch.Generator().manual_seed(0))
        for width in options.widths:
            for size in (1.0, 100.0):
                records.append(measure(structure, graph, width, size))
                print(line(records[-1]), flush=True)
    text = json.dumps({"date": time.strftime("%Y-%m-%d"), "records": records}, indent=1)
    OUTPUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
