"""Speed and memory of elastic message passing beside its peers, measured in one run.

Prints a table per thread count, writes results/operator.json and docs/figures/operator.png.
    python benchmarks/bench_operator.py [--quick] [--threads 1 2]
"""

import argparse
import json
import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # torch's profiler announces itself otherwise

import torch
from operator_graphs import CASES, Case, load_graph
from operator_linear import linear_cost
from operator_memory import peak_bytes
from operator_plot import draw
from operator_rivals import (
    LAMBDA1,
    LAMBDA2,
    STEPS,
    appnp_layer,
    appnp_products,
    plain_elastic,
    sparse_matrices,
)
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.kernels import native

ROOT = Path(__file__).resolve().parent
PENALTY = ElasticPenalty(LAMBDA1, LAMBDA2)
ROUNDS = 5
Call = Callable[[], object]


class Interleaved:
    """Interleaved calls, so that a busy moment hits all alike; their times, over all rounds."""

    def __init__(self, calls: dict[str, Call]) -> None:
        self.calls = calls
        self.times: dict[str, list[float]] = {name: [] for name in calls}

    def measure(self, seconds: float, least: int) -> None:
        """One round: for so long, and at least so many times each."""
        if not any(self.times.values()):
            for call in self.calls.values():
                call()  # warm-up, not timed
        stop, rounds = time.perf_counter() + seconds, 0
        while time.perf_counter() < stop or rounds < least:
            rounds += 1
            for name, call in self.calls.items():
                begin = time.perf_counter()
                call()
                self.times[name].append(time.perf_counter() - begin)

    @property
    def medians(self) -> dict[str, float]:
        return {name: statistics.median(values) for name, values in self.times.items()}


def interleaved_medians(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """Median seconds of each call, in one round."""
    interleaved = Interleaved(calls)
    interleaved.measure(seconds, 3)
    return interleaved.medians


def triad_bandwidth(threads: int) -> float:
    """Bytes per second of a = b + q c on arrays far beyond the caches, best of ten."""
    a, b, c = (torch.ones(1 << 25) for _ in range(3))
    best = float("inf")
    for _ in range(10):
        begin = time.perf_counter()
        native.triad(a.data_ptr(), b.data_ptr(), c.data_ptr(), 0.5, len(a), threads)
        best = min(best, time.perf_counter() - begin)
    return 3 * a.nbytes / best


def step_bytes(graph: Graph, width: int) -> float:
    """Bytes that one step must move if every gathered row comes from memory: A 2m + 5n rows,
    B1 3m + 2n, B2 m + 6n (width float32 each), and the indices."""
    rows = 6 * graph.num_edges + 13 * graph.num_nodes
    return 4 * width * rows + 4 * 4 * graph.num_edges + 3 * 16 * graph.num_nodes


def gradient_call(function: Callable[[Tensor], Tensor], x: Tensor, cotangent: Tensor) -> Call:
    return lambda: torch.autograd.grad(function(x), x, cotangent)


class Peers:
    """One graph and every way through it: forward, and forward+backward."""

    def __init__(self, case: Case) -> None:
        self.case = case
        graph, self.is_real = load_graph(case)
        self.graph = graph
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(graph.num_nodes, case.width, generator=generator)
        matrices = sparse_matrices(graph)
        plain, products = plain_elastic(matrices), appnp_products(matrices)
        layer = appnp_layer(graph)
        fused = {
            memory: lambda y, memory=memory: elastic_message_passing(
                y, graph, PENALTY, STEPS, implementation="fused", memory=memory
            )
            for memory in ("fast", "lean")
        }
        with torch.no_grad():
            self.error = float((plain(x) - fused["fast"](x)).abs().max())
        assert self.error < 1e-4, f"the answers differ by {self.error}"
        self.forward: dict[str, Call] = {
            "fused": lambda: fused["fast"](x),
            "plain": lambda: plain(x),
            "appnp_layer": lambda: layer(x),
            "appnp_products": lambda: products(x),
        }
        y, cotangent = x.clone().requires_grad_(), torch.randn_like(x)
        self.both: dict[str, Call] = {
            "fast": gradient_call(fused["fast"], y, cotangent),
            "lean": gradient_call(fused["lean"], y, cotangent),
            "plain": gradient_call(plain, y, cotangent),
        }

    @cached_property
    def memory(self) -> dict[str, dict[str, int]]:
        """Peak bytes of forward+backward, and of the forward pass alone."""
        torch.set_num_threads(1)  # the profiler does not see what other threads ask for
        both = {name: peak_bytes(call) for name, call in self.both.items()}
        with torch.no_grad():
            alone = {name: peak_bytes(self.forward[name]) for name in ("fused", "plain")}
        return {"peak_bytes": both, "forward_peak_bytes": alone}


class Row:
    """The times of a graph's peers on a number of threads."""

    def __init__(self, peers: Peers, threads: int) -> None:
        self.peers, self.threads = peers, threads
        self.forward, self.both = Interleaved(peers.forward), Interleaved(peers.both)

    def measure(self, seconds: float) -> None:
        """One round of both; on the last graph a single call takes longer than the seconds."""
        torch.set_num_threads(self.threads)
        with torch.no_grad():
            self.forward.measure(seconds, 2)
        self.both.measure(seconds, 1)

    def result(self, triad: float) -> dict[str, object]:
        """What all rounds found."""
        graph, width, forward = self.peers.graph, self.peers.case.width, self.forward.medians
        return {
            "name": self.peers.case.name,
            "real": self.peers.is_real,
            "nodes": graph.num_nodes,
            "edges": graph.num_edges,
            "width": width,
            "threads": self.threads,
            "error": self.peers.error,
            "forward_seconds": forward,
            "backward_seconds": self.both.medians,
            **self.peers.memory,
            "bytes_per_second": step_bytes(graph, width) * STEPS / forward["fused"],
            "triad_bytes_per_second": triad,
        }


class Population:
    """Cost of 16 runs at once (d = 7, Cora) over that of 16 single calls."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        graph, _ = load_graph(CASES[0])
        x = torch.randn(graph.num_nodes, 16, 7, generator=torch.Generator().manual_seed(0))
        single = [x[:, run].contiguous() for run in range(16)]
        self.interleaved = Interleaved(
            {
                "together": lambda: elastic_message_passing(x, graph, PENALTY, STEPS),
                "apart": lambda: [
                    elastic_message_passing(y, graph, PENALTY, STEPS) for y in single
                ],
            }
        )

    def measure(self, seconds: float) -> None:
        torch.set_num_threads(self.threads)
        with torch.no_grad():
            self.interleaved.measure(seconds, 3)

    @property
    def share(self) -> float:
        times = self.interleaved.medians
        return times["together"] / times["apart"]


def extra_share(row: dict[str, object], mode: str) -> float:
    """What the gradient takes beyond the forward pass alone, as a share of the plain version's."""
    memory, alone = row["peak_bytes"], row["forward_peak_bytes"]
    return max(0.0, memory[mode] - alone["fused"]) / (memory["plain"] - alone["plain"])


def report(row: dict[str, object], triad: float) -> None:
    """One line of the table."""
    forward, both, memory = row["forward_seconds"], row["backward_seconds"], row["peak_bytes"]
    print(
        f"{row['name']:<17}{row['nodes']:>8,}{row['edges']:>11,}{row['width']:>4}"
        f"{forward['fused'] * 1e3:>10.2f} ms"
        f"{forward['plain'] / forward['fused']:>8.2f}x"
        f"{forward['appnp_layer'] / forward['fused']:>8.2f}x"
        f"{forward['fused'] / forward['appnp_products']:>9.2f}"
        f"{both['fast'] * 1e3:>10.2f} ms"
        f"{both['plain'] / both['fast']:>7.2f}x{both['plain'] / both['lean']:>7.2f}x"
        f"{memory['fast'] / memory['plain']:>8.2f}{memory['lean'] / memory['plain']:>7.2f}"
        f"{extra_share(row, 'fast'):>8.2f}{extra_share(row, 'lean'):>7.2f}"
        f"{row['bytes_per_second'] / triad:>8.0%}"
    )


HEADER = (
    f"{'graph':<17}{'nodes':>8}{'edges':>11}{'d':>4}{'forward':>13}{'plain':>9}{'APPNP':>9}"
    f"{'of K SpMM':>9}{'f+backward':>13}{'fast':>8}"
    f"{'lean':>8}{'mem fast':>8}{'lean':>7}{'extra':>8}{'lean':>7}{'triad':>8}"
)


def measure_rounds(
    tables: dict[int, list[Row]], populations: dict[int, Population], seconds: float
) -> dict[int, float]:
    """Measures all rows, and returns the best triad of each number of threads."""
    triads = dict.fromkeys(tables, 0.0)
    for number in range(1, ROUNDS + 1):  # a busy minute of the host decides no row
        for threads, rows in tables.items():
            triads[threads] = max(triads[threads], triad_bandwidth(threads))
            for measured in (*rows, populations[threads]):
                measured.measure(seconds / ROUNDS)
            print(f"round {number} of {ROUNDS}: {threads} thread(s) done", flush=True)
    return triads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    if native is None:
        raise SystemExit("error: the compiled kernels are not built; there is nothing to measure")
    warnings.filterwarnings("ignore", message="Sparse")
    seconds = 1.0 if arguments.quick else 6.0
    results: dict[str, object] = {"machine": platform.processor(), "simd": native.simd, "rows": []}
    results["torch"], results["rounds"] = torch.__version__, ROUNDS
    cases = [Peers(case) for case in (CASES[:3] if arguments.quick else CASES)]
    tables = {threads: [Row(peers, threads) for peers in cases] for threads in arguments.threads}
    populations = {threads: Population(threads) for threads in arguments.threads}
    triads = measure_rounds(tables, populations, seconds)
    for threads, rows in tables.items():
        triad = triads[threads]
        print(f"\n{threads} thread(s), triad {triad / 1e9:.1f} GB/s, SIMD {native.simd}\n{HEADER}")
        for row in rows:
            results["rows"].append(row.result(triad))
            report(results["rows"][-1], triad)
        share = results[f"population_share_{threads}"] = populations[threads].share
        print(f"16 runs at once (Cora, d = 7): {share:.2f} of 16 single calls")
    torch.set_num_threads(arguments.threads[-1])
    print(f"\ncost along edges, steps and channels, {arguments.threads[-1]} thread(s):")
    results["linear"] = linear_cost(10**6 if arguments.quick else 10**7, interleaved_medians)
    (ROOT / "results").mkdir(exist_ok=True)
    target = ROOT / "results" / "operator.json"
    target.write_text(json.dumps(results, indent=1) + "\n")
    figure = draw(results, ROOT.parent / "docs" / "figures" / "operator.png")
    print(f"\nwrote {target.relative_to(ROOT.parent)} and {figure.relative_to(ROOT.parent)}")


if __name__ == "__main__":
    main()
