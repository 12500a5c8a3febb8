"""What a path of fifty values of lambda1 costs, in cold solves of its hardest value."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from solver_problems import cells, cora
from torch import Tensor

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import lambda1_max, log_grid, minimise, minimise_path

SIDES = (30, 100, 300)
Record = dict[str, Any]
Answer = TypeVar("Answer")
FEW = 20_000  # nodes: below, every value is also solved cold, and all is timed three times


def problems() -> dict[str, tuple[Callable[[], tuple[Tensor, Graph]], str]]:
    """Grids with one channel and with two in both norms, and Cora: what builds each, its norm."""
    found: dict[str, tuple[Callable[[], tuple[Tensor, Graph]], str]] = {}
    for side in SIDES:
        for channels, norm in ((1, "l1"), (2, "l1"), (2, "l21")):
            found[f"grid {side} x {side}, d={channels} {norm}"] = (
                lambda s=side, d=channels: (cells(s, d), grid_graph(s, s)),
                norm,
            )
    return found | {f"Cora, d=7 {norm}": (cora, norm) for norm in ("l1", "l21")}


def bench_paths(text: str = "", known: Sequence[Record] = ()) -> list[Record]:
    """A record per problem, measured anew where the name holds the text.

    One thread: a ratio needs no more, and it is steady where other programs run too.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {record["name"]: record for record in known}
    for name, (build, norm) in problems().items():
        if text in name:
            found[name] = bench_path(name, *build(), norm)
            print(path_line(found[name]), flush=True)
    torch.set_num_threads(threads)
    return [found[name] for name in problems() if name in found]


def bench_path(name: str, x: Tensor, graph: Graph, norm: str) -> Record:
    values = log_grid(lambda1_max(x, graph, norm=norm, rtol=0.1).upper)
    repeats = 3 if graph.num_nodes < FEW else 1
    seconds, path = fastest(lambda: minimise_path(x, graph, values, norm=norm), repeats)
    # fewer cold solves can only miss the hardest: the ratio is then an upper bound
    cold = []
    for value in values if graph.num_nodes < FEW else values[1::3]:
        penalty = ElasticPenalty(value, 0.0, norm)
        alone, solution = fastest(lambda at=penalty: minimise(x, graph, at), repeats)
        cold.append((alone, solution.steps, value))
    hardest = max(cold)
    return {
        "name": name,
        "nodes": graph.num_nodes,
        "points": len(values),
        "load": os.getloadavg()[0],
        "certified": path.certified,
        "seconds": seconds,
        "steps": path.steps,
        "hardest_seconds": hardest[0],
        "hardest_steps": hardest[1],
        "hardest_lambda1": hardest[2],
        "cold_solves": seconds / hardest[0],
    }


def fastest(call: Callable[[], Answer], repeats: int) -> tuple[float, Answer]:
    """Seconds of the fastest of a few calls, and what the last one returned."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - begin)
    return min(times), answer


def path_line(record: Record) -> str:
    return (
        f"path {record['name']:<26} {record['seconds']:8.3f} s, hardest cold solve "
        f"{record['hardest_seconds']:7.4f} s: {record['cold_solves']:5.1f} of them "
        f"(steps {record['steps']}, {record['hardest_steps']})"
    )
