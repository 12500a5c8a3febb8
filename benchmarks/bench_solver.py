"""The certified solver against generic and graph-TV solvers: same objective, gap really reached.

    python benchmarks/bench_solver.py --largest 1000000

Noisy piecewise-constant signals on square grids, not normalised, lambda2 = 0. Every rival's signal
is judged by our certificate: its objective against our proven lower bound. Prints a table and
writes bench_solver.json. A rival is not asked again for sizes beyond the one where it took longer
than --patience seconds. Runs each case once, in a process of its own, so that memory is its own.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty, primal_value
from elasticgnn.solver import minimise

SIDES = (32, 100, 316, 1000)
LAMBDA1S = (0.1, 0.5, 2.0)
NOISE = 0.5
CELLS = 30


def grid(side: int) -> Graph:
    pixel = torch.arange(side * side).view(side, side)
    across = torch.stack([pixel[:, :-1].flatten(), pixel[:, 1:].flatten()])
    down = torch.stack([pixel[:-1].flatten(), pixel[1:].flatten()])
    index = torch.cat([across, down], 1)
    return Graph.from_edge_index(index, side * side, undirected=True, normalization="none")


def cells(side: int, channels: int, seed: int = 1) -> torch.Tensor:
    """Thirty Voronoi cells with levels of spread 2, plus noise of 0.5: (side^2, channels)."""
    generator = torch.Generator().manual_seed(seed)
    centers = side * torch.rand(CELLS, 2, generator=generator)
    levels = 2 * torch.randn(CELLS, channels, generator=generator)
    axis = torch.arange(side).float()
    places = torch.cartesian_prod(axis, axis)
    nearest = torch.cat([torch.cdist(part, centers).argmin(1) for part in places.split(100_000)])
    noise = torch.randn(side * side, channels, generator=generator)
    return (levels[nearest] + NOISE * noise).double()


def ours(x: torch.Tensor, graph: Graph, lambda1: float) -> tuple[np.ndarray, dict[str, Any]]:
    solution = minimise(x, graph, ElasticPenalty(lambda1, 0.0))
    facts = {"steps": solution.steps, "lower": solution.objective - solution.gap}
    return solution.value.numpy(), facts | {"certified": solution.certified}


def convex(name: str) -> Callable[..., tuple[np.ndarray, dict[str, Any]]]:
    """cvxpy with the solver `name` at its own default precision."""

    def solve(x: torch.Tensor, graph: Graph, lambda1: float) -> tuple[np.ndarray, dict[str, Any]]:
        import cvxpy as cp
        from scipy.sparse import csr_array

        edges = np.arange(graph.num_edges)
        places = (np.tile(edges, 2), np.concatenate([graph.tail.numpy(), graph.head.numpy()]))
        signs = np.repeat([1.0, -1.0], graph.num_edges)
        difference = csr_array((signs, places), shape=(graph.num_edges, graph.num_nodes))
        signal = cp.Variable(tuple(x.shape))
        jumps = (
            cp.norm(difference @ signal, 2, axis=1)
            if x.shape[1] > 1
            else cp.abs(difference @ signal)
        )
        loss = cp.sum_squares(signal - x.numpy()) / 2 + lambda1 * cp.sum(jumps)
        problem = cp.Problem(cp.Minimize(loss))
        problem.solve(solver=name)
        return np.asarray(signal.value), {"status": problem.status}

    return solve


def cut_pursuit(x: torch.Tensor, graph: Graph, lambda1: float) -> tuple[np.ndarray, dict[str, Any]]:
    """pycut-pursuit at its own default tolerance (1e-4 on the change of its iterates)."""
    from pycut_pursuit.cp_prox_tv import cp_prox_tv

    start = np.zeros(graph.num_nodes + 1, dtype=np.uint32)
    np.cumsum(np.bincount(graph.tail.numpy(), minlength=graph.num_nodes), out=start[1:])
    component, value, *_ = cp_prox_tv(
        np.asfortranarray(x.numpy().T),
        start,
        graph.head.numpy().astype(np.uint32),
        edge_weights=np.full(graph.num_edges, lambda1),
        verbose=0,
    )
    return np.asarray(value).reshape(x.shape[1], -1).T[np.asarray(component)], {}


RIVALS: dict[str, Callable[..., tuple[np.ndarray, dict[str, Any]]]] = {
    "elasticgnn": ours,
    "cvxpy/Clarabel": convex("CLARABEL"),
    "cvxpy/OSQP": convex("OSQP"),
    "cvxpy/SCS": convex("SCS"),
    "pycut-pursuit": cut_pursuit,
}


def run_case(name: str, side: int, channels: int, lambda1: float) -> dict[str, Any]:
    """One solve, timed, with the objective of its signal."""
    RIVALS[name](cells(8, channels), grid(8), lambda1)  # imports and first calls are not timed
    x, graph = cells(side, channels), grid(side)
    begin, cpu = time.perf_counter(), time.process_time()
    signal, facts = RIVALS[name](x, graph, lambda1)
    seconds, work = time.perf_counter() - begin, time.process_time() - cpu
    rows = torch.from_numpy(np.ascontiguousarray(signal)).reshape(x.shape).double()
    objective = float(primal_value(rows, x, graph, ElasticPenalty(lambda1, 0.0)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return facts | {
        "seconds": seconds,
        "cpu_seconds": work,
        "objective": objective,
        "memory_mb": memory,
    }


def ask(case: dict[str, Any], patience: float) -> dict[str, Any]:
    """The case in its own process; a failure is an answer too."""
    command = [sys.executable, __file__, "--case", json.dumps(case)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {patience:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"failure": last[:80]}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def applies(name: str, channels: int) -> bool:
    """OSQP solves quadratic programs: one channel only."""
    return name != "cvxpy/OSQP" or channels == 1


def bench(sides: list[int], patience: float) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    tired: set[tuple[str, int]] = set()
    for side in sides:
        for channels in (1, 2):
            for lambda1 in LAMBDA1S:
                lower = None
                for name in RIVALS:
                    if (name, channels) in tired or not applies(name, channels):
                        continue
                    case = {"name": name, "side": side, "channels": channels, "lambda1": lambda1}
                    answer = ask(case, patience)
                    lower = answer.pop("lower", lower)
                    if "objective" in answer and lower is not None:
                        gap = (answer["objective"] - lower) / answer["objective"]
                        answer["relative_gap"] = gap
                    if "failure" in answer and name != "elasticgnn":
                        tired.add((name, channels))
                    records.append(case | answer)
                    print(line(records[-1]), flush=True)
    return records


def line(record: dict[str, Any]) -> str:
    head = (
        f"{record['side'] ** 2:>9,} nodes  d={record['channels']}  "
        f"lambda1={record['lambda1']:<4} {record['name']:<15}"
    )
    if "failure" in record:
        return f"{head} {record['failure']}"
    return (
        f"{head} {record['seconds']:8.2f} s  {record['cpu_seconds']:8.2f} s CPU  "
        f"gap {record.get('relative_gap', float('nan')):8.1e}  {record['memory_mb']:6.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1_000_000, help="number of nodes")
    parser.add_argument("--patience", type=float, default=180.0, help="seconds per case")
    parser.add_argument("--output", type=Path, default=Path("bench_solver.json"))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(**json.loads(options.case))))
        return
    records = bench([side for side in SIDES if side**2 <= options.largest], options.patience)
    machine = {
        "cpu": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "load": os.getloadavg()[0],
    }
    options.output.write_text(json.dumps({"machine": machine, "records": records}, indent=1))
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
