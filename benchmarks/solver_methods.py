"""The methods for chains, trees and trends against cvxpy with Clarabel, in one run.

Processor seconds, since the machine may be shared: both sides run on one thread. Ours is the whole
call, Clarabel's is its own solve without cvxpy's modelling. Every answer of ours is certified.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Solution, lambda1_max, log_grid, minimise, minimise_path
from elasticgnn.solver.geometry import Geometry

Record = dict[str, Any]
LARGEST_RIVAL = 300_000  # values: beyond, Clarabel is not asked
REPEATS = 2
LONG_ENOUGH = 0.2  # seconds over all repeats: a short run is disturbed by its neighbours
SIZES = (1_000, 10_000, 100_000)


def bench_methods(largest: int = 1_000_000) -> list[Record]:
    """All records; prints each."""
    return bench_trends(largest) + bench_forests(largest)


def bench_trends(largest: int = 1_000_000) -> list[Record]:
    """The records of chains and grids beside Clarabel alone."""
    return shown(trend_cases(largest))


def bench_forests(largest: int = 1_000_000) -> list[Record]:
    """The records of the exact method alone: a path, and large forests."""
    return shown(itertools.chain([path_case()], exact_cases(largest)))


def shown(cases: Iterable[Record]) -> list[Record]:
    """The records, each printed when it is there."""
    records = []
    for record in cases:
        records.append(record)
        print("  ".join(f"{name} {_text(value)}" for name, value in record.items()), flush=True)
    return records


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def timed(run: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Least processor seconds of some runs, of more where they are short, and the last answer."""
    seconds: list[float] = []
    while len(seconds) < repeats or (repeats > 1 and sum(seconds) < LONG_ENOUGH):
        begin = time.process_time()
        answer = run()
        seconds.append(time.process_time() - begin)
    return min(seconds), answer


def chain(nodes: int) -> Graph:
    node = torch.arange(nodes)
    index = torch.stack([node[:-1], node[1:]])
    return Graph.from_edge_index(index, nodes, undirected=True, normalization="none")


def random_tree(nodes: int, rng: np.random.Generator) -> Graph:
    """Every node hangs on one before it, with a random weight."""
    parent = (rng.random(nodes - 1) * np.arange(1, nodes)).astype(np.int64)
    index = torch.from_numpy(np.stack([parent, np.arange(1, nodes)]))
    weight = torch.from_numpy(rng.exponential(size=nodes - 1))
    return Graph.from_edge_index(index, nodes, weight, undirected=True, normalization="none")


def exact_cases(nodes: int) -> Iterator[Record]:
    """Dynamic programming with data weights and a third of the values missing, at 1e-9."""
    rng = np.random.default_rng(0)
    levels = np.repeat(5 * rng.normal(size=nodes // 1000), 1000)
    x = torch.from_numpy(levels + rng.normal(size=nodes))
    weight = rng.exponential(size=nodes)
    weight[rng.random(nodes) < 1 / 3] = 0.0
    given = torch.from_numpy(weight)
    for name, graph in (("chain", chain(nodes)), ("random tree", random_tree(nodes, rng))):
        for lambda1 in (1.0, 100.0, 1e4):

            def run(graph: Graph = graph, lambda1: float = lambda1) -> Solution:
                penalty = ElasticPenalty(lambda1, 0.0)
                return minimise(x, graph, penalty, data_weight=given, rtol=1e-9)

            yield _record(f"{name}, missing", graph, 1, 0, lambda1, *timed(run))


def _record(
    name: str, graph: Graph, channels: int, order: int, lambda1: float, seconds: float, s: Solution
) -> Record:
    return {
        "case": name,
        "nodes": graph.num_nodes,
        "channels": channels,
        "order": order,
        "lambda1": lambda1,
        "method": s.method,
        "certified": s.certified,
        "relative_gap": s.relative_gap,
        "seconds": seconds,
    }


def trend_cases(largest: int) -> Iterator[Record]:
    """Chains of orders 0 to 2 and grids of orders 1 and 2, beside Clarabel where it is asked."""
    rng = np.random.default_rng(1)
    chains = [("chain", chain(n), d, o) for n in SIZES for d in (1, 3) for o in (0, 1, 2)]
    grids = [("grid", grid_graph(100, 100, normalization="none"), 1, order) for order in (1, 2)]
    for name, graph, channels, order in (*chains, *grids):
        if graph.num_nodes > largest:
            continue
        rows = rng.normal(size=(graph.num_nodes, channels))
        x = torch.from_numpy(rows.cumsum(0) if name == "chain" else rows)

        def run(graph: Graph = graph, x: torch.Tensor = x, order: int = order) -> Solution:
            return minimise(x, graph, ElasticPenalty(2.0, 0.0), order=order)

        record = _record(name, graph, channels, order, 2.0, *timed(run))
        if x.numel() <= LARGEST_RIVAL:
            rival = clarabel_seconds(x, graph, order)
            record |= {"clarabel": rival, "ratio": rival / record["seconds"]}
        yield record


def clarabel_seconds(x: torch.Tensor, graph: Graph, order: int) -> float:
    """Clarabel's own time for the same problem, at its default precision."""
    import cvxpy as cp

    geometry = Geometry(graph, order)
    signal = cp.Variable(tuple(x.shape))
    rows = geometry.operator @ signal
    size = cp.norm(rows, 2, axis=1) if x.shape[1] > 1 else cp.abs(rows[:, 0])
    loss = cp.sum_squares(signal - x.numpy()) / 2 + 2.0 * (geometry.row_weight @ size)
    problem = cp.Problem(cp.Minimize(loss))
    data, chain_of, inverse = problem.get_problem_data("CLARABEL")
    seconds, _ = timed(
        lambda: chain_of.solve_via_data(problem, data, solver_opts={"max_threads": 1}), 2
    )
    del inverse
    return seconds


def path_case() -> Record:
    """A hundred values of lambda1 on a chain of 100,000 nodes, from its largest down."""
    rng, graph = np.random.default_rng(2), chain(100_000)
    x = torch.from_numpy(rng.normal(size=100_000).cumsum())
    seconds, path = timed(
        lambda: minimise_path(x, graph, log_grid(lambda1_max(x, graph).value, 100)), 1
    )
    return {
        "case": "path of 100",
        "nodes": 100_000,
        "certified": path.certified,
        "seconds": seconds,
    }
