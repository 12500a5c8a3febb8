"""What a path of fifty values of lambda1 costs, in cold solves of its hardest value."""

import time
from collections.abc import Callable
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


def bench_paths(sides: tuple[int, ...] = SIDES) -> list[Record]:
    """A record per problem: grids with one channel and with two in both norms, and Cora.

    One thread: a ratio needs no more, and it is steady where other programs run too.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    records = []
    for side in sides:
        for channels, norm in ((1, "l1"), (2, "l1"), (2, "l21")):
            name = f"grid {side} x {side}, d={channels} {norm}"
            records.append(bench_path(name, cells(side, channels), grid_graph(side, side), norm))
            print(path_line(records[-1]), flush=True)
    for norm in ("l1", "l21"):
        records.append(bench_path(f"Cora, d=7 {norm}", *cora(), norm))
        print(path_line(records[-1]), flush=True)
    torch.set_num_threads(threads)
    return records


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
