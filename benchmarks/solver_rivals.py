"""Ours and the rivals of the solver's benchmark: each returns its signal, its time and remarks.

1/2 |F - X|^2 + lambda1 sum over edges of |F_i - F_j|      on a graph that is not normalised
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise

CUT_PURSUIT = Path(__file__).with_name("solver_cut_pursuit.py")
TIGHT_NODES = 200_000  # up to here the bound that judges all is solved for far more digits


@dataclass(frozen=True)
class Answer:
    """A rival's signal and the seconds it took."""

    signal: np.ndarray
    seconds: float
    remarks: dict[str, Any] = field(default_factory=dict)


def ours(x: Tensor, graph: Graph, lambda1: float) -> Answer:
    begin = time.perf_counter()
    solution = minimise(x, graph, ElasticPenalty(lambda1, 0.0))
    seconds = time.perf_counter() - begin
    remarks = {"steps": solution.steps, "certified": solution.certified}
    return Answer(solution.value.numpy(), seconds, remarks | {"own_gap": solution.relative_gap})


def lower_bound(x: Tensor, graph: Graph, lambda1: float) -> float:
    """A proven lower bound of the objective, as tight as is cheap."""
    rtol = 1e-9 if graph.num_nodes <= TIGHT_NODES else 1e-6
    solution = minimise(x, graph, ElasticPenalty(lambda1, 0.0), rtol=rtol)
    return solution.objective - solution.gap


def convex(name: str) -> Callable[[Tensor, Graph, float], Answer]:
    """cvxpy with the solver `name` at its own default precision."""

    def solve(x: Tensor, graph: Graph, lambda1: float) -> Answer:
        import cvxpy as cp
        from scipy.sparse import csr_array

        begin = time.perf_counter()
        edges = np.arange(graph.num_edges)
        places = (np.tile(edges, 2), np.concatenate([graph.tail.numpy(), graph.head.numpy()]))
        signs = np.repeat([1.0, -1.0], graph.num_edges)
        difference = csr_array((signs, places), shape=(graph.num_edges, graph.num_nodes))
        signal = cp.Variable(tuple(x.shape))
        rows = difference @ signal
        jumps = cp.norm(rows, 2, axis=1) if x.shape[1] > 1 else cp.abs(rows)
        loss = cp.sum_squares(signal - x.numpy()) / 2 + lambda1 * cp.sum(jumps)
        problem = cp.Problem(cp.Minimize(loss))
        problem.solve(solver=name)
        seconds = time.perf_counter() - begin
        if signal.value is None:
            raise RuntimeError(f"{name} ended with {problem.status}")
        return Answer(np.asarray(signal.value), seconds, {"status": problem.status})

    return solve


def cut_pursuit(x: Tensor, graph: Graph, lambda1: float) -> Answer:
    """pycut-pursuit at its own default tolerance (1e-4 on the change of its iterates)."""
    first_edge = np.zeros(graph.num_nodes + 1, dtype=np.uint32)
    np.cumsum(np.bincount(graph.tail.numpy(), minlength=graph.num_nodes), out=first_edge[1:])
    head = graph.head.numpy().astype(np.uint32)
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(files[0], x=x.numpy(), first_edge=first_edge, head=head, lambda1=lambda1)
        command = [cut_pursuit_python(), str(CUT_PURSUIT), *map(str, files)]
        # threads that wait without spinning: on a busy machine it is a hundred times faster
        quiet = os.environ | {"OMP_WAIT_POLICY": "passive"}
        ended = subprocess.run(command, capture_output=True, text=True, env=quiet)
        if ended.returncode:
            last = (ended.stderr.strip() or "no message").splitlines()[-1]
            raise RuntimeError(f"exit code {ended.returncode}: {last}")
        answer = np.load(files[1])
        memory = {"memory_mb": float(answer["memory"])}
        return Answer(answer["signal"], float(answer["seconds"]), memory)


def cut_pursuit_python() -> str:
    """The interpreter that has pycut-pursuit; `make bench-solver` sets one up."""
    return os.environ.get("CUT_PURSUIT_PYTHON", "")


def reason_to_skip(name: str, channels: int) -> str | None:
    """Why a rival cannot be asked, if so."""
    if name == "cvxpy/OSQP" and channels > 1:
        return "solves quadratic programs: one channel only"
    if name == "pycut-pursuit" and channels == 1:
        return "version 0.1.4 crashes with one channel (free(): double free detected)"
    if name == "pycut-pursuit":
        python = cut_pursuit_python()
        if not python or not Path(python).exists():
            return "no interpreter with pycut-pursuit and numpy < 2 (CUT_PURSUIT_PYTHON)"
    return None


RIVALS: dict[str, Callable[[Tensor, Graph, float], Answer]] = {
    "elasticgnn": ours,
    "cvxpy/Clarabel": convex("CLARABEL"),
    "cvxpy/OSQP": convex("OSQP"),
    "cvxpy/SCS": convex("SCS"),
    "pycut-pursuit": cut_pursuit,
}


def warm_up(name: str, x: Tensor, graph: Graph) -> None:
    """Imports and first calls, which are not timed."""
    RIVALS[name](x, graph, 0.5)
