"""Chains, trees, trends and roads, a problem per row, beside cvxpy with Clarabel where it is asked.

Processor seconds, since the machine may be shared: both sides run on one thread. Ours is the whole
call, Clarabel's is its own solve without cvxpy's modelling. Every answer of ours is certified. Rows
are measured by themselves: `--rows` of bench_solver.py takes those whose label holds a text.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from solver_problems import chain, random_tree, roads

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Solution, lambda1_max, log_grid, minimise, minimise_path
from elasticgnn.solver.problem.geometry import Geometry

Record = dict[str, Any]
Problem = tuple[torch.Tensor, Graph, dict[str, Any]]  # signal, graph, options of minimise
REPEATS = 2
LONG = 10.0  # seconds from which on one run is enough
LONG_ENOUGH = 0.2  # seconds over all repeats: a short run is disturbed by its neighbours
SIZES = (1_000, 10_000, 100_000)
SIDES = (100, 316)
MILLION = 1_000_000
HOURGLASS = 100.0  # seconds after which Clarabel is stopped
KEYS = ("case", "nodes", "channels", "order", "lambda1")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    case: str
    nodes: int
    channels: int
    order: int
    lambda1: float
    build: Callable[["Row"], Problem]
    rival: bool = False

    @property
    def label(self) -> str:
        """What --rows looks into."""
        return (
            f"{self.case} nodes={self.nodes} d={self.channels} order={self.order} "
            f"lambda1={self.lambda1:g}"
        )

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this row's record from the others."""
        return tuple(getattr(self, name) for name in KEYS)


def all_rows() -> list[Row]:
    """Every row, in the order of the table."""
    rows = [
        Row("chain", n, d, order, 2.0, walk, rival=True)
        for n in SIZES
        for d in (1, 3)
        for order in (0, 1, 2)
    ]
    rows += [
        Row("grid", side * side, 1, order, 2.0, noise, rival=True)
        for side in SIDES
        for order in (1, 2)
    ]
    rows += [Row("path of 100", 100_000, 1, 0, 0.0, walk)]
    for case in ("chain, missing", "random tree, missing"):
        rows += [Row(case, MILLION, 1, 0, value, with_gaps) for value in (1.0, 100.0, 1e4)]
    return [*rows, Row("roads", 560_000, 2, 0, 10.0, levels)]


def bench_rows(text: str, known: list[Record]) -> list[Record]:
    """The records with those rows measured anew whose label holds the text; prints each."""
    found = {tuple(one.get(name) for name in KEYS): one for one in known}
    for row in all_rows():
        if text in row.label:
            found[row.key] = measured(row)
            print(row.label, *(f"{k} {_text(v)}" for k, v in found[row.key].items()), flush=True)
    return [found[row.key] for row in all_rows() if row.key in found]


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def measured(row: Row) -> Record:
    """The row's record."""
    record = {name: getattr(row, name) for name in KEYS} | {"load": os.getloadavg()[0]}
    x, graph, options = row.build(row)
    if row.case.startswith("path"):
        seconds, path = timed(
            lambda: minimise_path(x, graph, log_grid(lambda1_max(x, graph).value, 100))
        )
        return record | {"certified": path.certified, "seconds": seconds}
    penalty = ElasticPenalty(row.lambda1, 0.0)
    seconds, solution = timed(lambda: minimise(x, graph, penalty, order=row.order, **options))
    record |= facts(solution) | {"seconds": seconds}
    if row.rival:
        rival = clarabel(x, graph, row.order, row.lambda1)
        record |= rival | {"ratio": rival["clarabel"] / seconds}
    return record


def facts(solution: Solution) -> Record:
    """What the table tells of a solution."""
    return {
        "method": solution.method,
        "certified": solution.certified,
        "relative_gap": solution.relative_gap,
        "steps": solution.steps,
    }


def timed(run: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Least processor seconds of some runs, of more where they are short, and the last answer."""
    seconds: list[float] = []
    while len(seconds) < repeats or sum(seconds) < LONG_ENOUGH:
        begin = time.process_time()
        answer = run()
        seconds.append(time.process_time() - begin)
        if seconds[-1] > LONG:
            break
    return min(seconds), answer


def _rng(row: Row) -> np.random.Generator:
    return np.random.default_rng([row.nodes, row.channels, row.order])


def walk(row: Row) -> Problem:
    """A random walk along a chain."""
    steps = _rng(row).normal(size=(row.nodes, row.channels))
    return torch.from_numpy(steps.cumsum(0)), chain(row.nodes), {}


def noise(row: Row) -> Problem:
    """Noise on a square grid."""
    side = round(row.nodes**0.5)
    x = torch.from_numpy(_rng(row).normal(size=(row.nodes, row.channels)))
    return x, grid_graph(side, side, normalization="none"), {}


def with_gaps(row: Row) -> Problem:
    """Levels of a thousand nodes with noise, weights of the data, a third of them missing."""
    rng = _rng(row)
    level = np.repeat(5 * rng.normal(size=row.nodes // 1000), 1000)
    x = torch.from_numpy(level + rng.normal(size=row.nodes))
    weight = rng.exponential(size=row.nodes)
    weight[rng.random(row.nodes) < 1 / 3] = 0.0
    graph = chain(row.nodes) if row.case.startswith("chain") else random_tree(row.nodes, rng)
    return x, graph, {"data_weight": torch.from_numpy(weight), "rtol": 1e-9}


def levels(row: Row) -> Problem:
    """Two smooth levels with noise on a network of streets."""
    graph, places = roads(row.nodes)
    rng = _rng(row)
    smooth = 3 * np.sin(places / places.max() * 7)
    x = torch.from_numpy(np.round(smooth) + rng.normal(size=(len(places), row.channels)))
    return x, graph, {}


def clarabel(x: torch.Tensor, graph: Graph, order: int, lambda1: float) -> Record:
    """Clarabel's own time for the same problem, at its default precision, and how it ended."""
    import cvxpy as cp

    geometry = Geometry(graph, order)
    signal = cp.Variable(tuple(x.shape))
    rows = geometry.operator @ signal
    size = cp.norm(rows, 2, axis=1) if x.shape[1] > 1 else cp.abs(rows[:, 0])
    loss = cp.sum_squares(signal - x.numpy()) / 2 + lambda1 * (geometry.row_weight @ size)
    problem = cp.Problem(cp.Minimize(loss))
    data, chain_of, _ = problem.get_problem_data("CLARABEL")
    options = {"max_threads": 1, "time_limit": HOURGLASS}
    seconds, answer = timed(lambda: chain_of.solve_via_data(problem, data, solver_opts=options))
    return {"clarabel": seconds, "clarabel_status": str(answer.status)}
