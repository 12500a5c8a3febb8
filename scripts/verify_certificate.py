"""Is the certificate ever wrong? Random problems against an outside solver and a far longer run.

    python scripts/verify_certificate.py --count 10000 --output benchmarks/results/certificate.json

A violation is any signal, wherever it comes from, whose objective lies below objective - gap, or a
proven lower bound above the objective. Small problems are also given to cvxpy with Clarabel.
Prints one line per violation and a summary; the exit code is 1 if there was one. With --output
each hundred problems are recorded when done, and a run that was stopped goes on after them.
--paths examines the same problems as points of a path of seven values of lambda1.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Solution, minimise, minimise_path
from elasticgnn.solver.instance import Instance, build_instance

OUTSIDE_NODES = 10  # largest problem that the outside solver is asked about
BATCH = 100  # problems per entry of the record
PATH = (0.5, 0.7, 0.9, 1.0, 1.1, 1.6, 2.5)  # times lambda1, with --paths


@dataclass(frozen=True)
class Problem:
    """One random denoising problem."""

    x: torch.Tensor
    graph: Graph
    penalty: ElasticPenalty
    data_weight: torch.Tensor | None
    order: int

    @property
    def instance(self) -> Instance:
        return build_instance(self.x, self.graph, self.penalty, self.data_weight, self.order)

    def solve(self, rtol: float, max_steps: int, method: str = "auto") -> Solution:
        return minimise(
            self.x,
            self.graph,
            self.penalty,
            data_weight=self.data_weight,
            order=self.order,
            rtol=rtol,
            max_steps=max_steps,
            method=method,
        )

    def solve_on_path(self, rtol: float) -> Solution:
        """The solution as the fourth of seven on a path."""
        lambda1 = float(self.penalty.lambda1)
        path = minimise_path(
            self.x,
            self.graph,
            [lambda1 * ratio for ratio in PATH],
            lambda2=float(self.penalty.lambda2),
            norm=self.penalty.norm,
            data_weight=self.data_weight,
            order=self.order,
            rtol=rtol,
        )
        return path.solutions[PATH.index(1.0)]

    def __str__(self) -> str:
        missing = 0 if self.data_weight is None else int((self.data_weight == 0).sum())
        return (
            f"{self.graph}, d={self.x.shape[1]}, {self.penalty}, order={self.order}, "
            f"{missing} missing"
        )


def random_problem(rng: Generator) -> Problem:
    """A problem of 1 to 30 nodes: both norms, weights, normalisations, orders 0 to 2, all sizes."""
    nodes = int(rng.integers(1, 31)) if rng.random() < 0.5 else int(rng.integers(1, 11))
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < rng.uniform(0.05, 0.9), 1))
    weight = torch.from_numpy(rng.exponential(1.0, len(pairs))) if rng.random() < 0.5 else None
    if weight is not None and len(pairs) and rng.random() < 0.2:
        weight[int(rng.integers(len(pairs)))] = 0.0
    graph = Graph.from_edge_index(
        torch.from_numpy(pairs.T.copy()),
        nodes,
        weight,
        undirected=True,
        normalization=str(rng.choice(["degree", "none"])),
    )
    scale, offset = 10.0 ** rng.uniform(-3, 3), rng.choice([0.0, 0.0, 1e3])
    x = torch.from_numpy(scale * (rng.normal(size=(nodes, int(rng.integers(1, 4)))) + offset))
    strengths = scale * rng.exponential(rng.choice([0.05, 0.5, 5.0])), rng.exponential(1.0)
    lambda1, lambda2 = (float(s) if rng.random() < 0.75 else 0.0 for s in strengths)
    norm = str(rng.choice(["l1", "l21"]))
    penalty = ElasticPenalty(lambda1, lambda2, norm)
    return Problem(x, graph, penalty, _random_data_weight(rng, graph), int(rng.integers(3)))


def _random_data_weight(rng: Generator, graph: Graph) -> torch.Tensor | None:
    """None, positive weights, or weights with zeros that leave data in every component."""
    kind = rng.random()
    if kind < 0.5:
        return None
    weight = rng.exponential(1.0, graph.num_nodes) + 0.01
    live = (graph.weight > 0).numpy()
    if kind < 0.75 or not live.all():
        return torch.from_numpy(weight)
    weight[rng.random(graph.num_nodes) < 0.3] = 0.0
    labels = graph.component_labels.numpy()
    first = np.unique(labels, return_index=True)[1]
    weight[first] = np.maximum(weight[first], 0.5)
    return torch.from_numpy(weight)


def objective(problem: Problem, signal: np.ndarray) -> float:
    """P of any signal, by the definition, in extended precision."""
    instance = problem.instance
    exact = np.longdouble
    rows = signal.astype(exact)
    delta = instance.operator.toarray().astype(exact) @ rows
    length = np.abs(delta) if instance.norm == "l1" else np.sqrt((delta**2).sum(1, keepdims=True))
    omega, c = (
        instance.row_weight[:, None].astype(exact),
        instance.data_weight[:, None].astype(exact),
    )
    value = (c * (rows - instance.x) ** 2).sum() / 2 + instance.lambda1 * (omega * length).sum()
    return float(value + instance.lambda2 / 2 * (omega * delta**2).sum())


def outside_signal(problem: Problem) -> np.ndarray | None:
    """The minimiser according to cvxpy with Clarabel; None where it gives up."""
    import cvxpy as cp

    instance = problem.instance
    signal = cp.Variable(instance.x.shape)
    weight = np.repeat(np.sqrt(instance.data_weight)[:, None], instance.x.shape[1], axis=1)
    loss = cp.sum_squares(cp.multiply(weight, signal - instance.x)) / 2
    if instance.num_rows:
        delta = instance.operator @ signal
        size = cp.norm(delta, 1 if instance.norm == "l1" else 2, axis=1)
        root = np.sqrt(instance.row_weight)[:, None] * np.ones((1, instance.x.shape[1]))
        loss += instance.lambda1 * (instance.row_weight @ size)
        loss += instance.lambda2 / 2 * cp.sum_squares(cp.multiply(root, delta))
    try:
        cp.Problem(cp.Minimize(loss)).solve(solver="CLARABEL")
    except cp.error.SolverError:
        return None
    return None if signal.value is None else np.asarray(signal.value).reshape(instance.x.shape)


def examine(
    problem: Problem, rng: Generator, *, outside: bool, long_steps: int, on_path: bool = False
) -> tuple[Solution, list[str]]:
    """One solve at a random precision, and everything that contradicts its certificate."""
    rtol, steps = 10.0 ** rng.uniform(-8, -1), int(rng.integers(0, 300))
    method = "papc" if rng.random() < 0.15 else "auto"
    solution = problem.solve_on_path(rtol) if on_path else problem.solve(rtol, steps, method)
    lower = solution.objective - solution.gap
    rivals = {"longer run": problem.solve(1e-13, long_steps)}
    found = []
    if not solution.gap >= 0 or solution.certified != _is_certified(solution, rtol):
        found.append(f"gap {solution.gap} and certified {solution.certified} disagree")
    signals = {name: rival.value.numpy() for name, rival in rivals.items()}
    signals["itself"] = solution.value.numpy()
    if outside:
        answer = outside_signal(problem)
        signals |= {} if answer is None else {"cvxpy": answer}
    slack = 1e-13 * abs(solution.objective)  # the last digits of `objective - gap` itself
    for name, signal in signals.items():
        value = objective(problem, signal)
        if value < lower - slack:
            found.append(f"{name} reaches {value!r}, below the bound {lower!r}")
    best = rivals["longer run"]
    if best.objective - best.gap > solution.objective + slack:
        found.append(f"bound {best.objective - best.gap!r} above {solution.objective!r}")
    return solution, found + _too_far(problem, solution, best)


def _is_certified(solution: Solution, rtol: float) -> bool:
    """Within rtol; a gap at its rounding floor counts too, and only the solver knows the floor."""
    return solution.certified or solution.gap <= rtol * solution.objective


def _too_far(problem: Problem, solution: Solution, best: Solution) -> list[str]:
    """The distance bound, seen from a signal whose own distance from the optimum is bounded."""
    c = problem.instance.data_weight[:, None]
    away = float(np.sqrt((c * (solution.value - best.value).numpy() ** 2).sum()))
    limit = solution.distance_bound + best.distance_bound
    noise = 1e-12 * float(np.sqrt((c * problem.instance.x**2).sum()))
    return [f"distance {away} beyond {limit}"] if away > limit + noise else []


@dataclass(frozen=True)
class Tally:
    """What a number of problems showed."""

    problems: int = 0
    outside: int = 0  # given to cvxpy too
    certified: int = 0
    violations: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        sums = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Tally(**sums)


def verify(
    count: int, outside: int, seed: int, long_steps: int, batch: int = 0, on_path: bool = False
) -> Tally:
    """The tally of `count` problems drawn with (seed, batch), `outside` of them given to cvxpy."""
    rng = np.random.default_rng((seed, batch))
    total = Tally()
    for number in range(count):
        problem = random_problem(rng)
        ask = total.outside < outside and problem.graph.num_nodes <= OUTSIDE_NODES
        solution, found = examine(problem, rng, outside=ask, long_steps=long_steps, on_path=on_path)
        total += Tally(1, int(ask), int(solution.certified), int(bool(found)))
        for text in found:
            print(f"problem {number} of batch {batch}: {problem}: {text}")
    return total


def verify_all(options: argparse.Namespace) -> Tally:
    """All batches; those recorded in the output are not run again."""
    batches = -(-options.count // BATCH)
    settings = {"outside": options.outside, "seed": options.seed, "long_steps": options.long_steps}
    settings |= {"paths": True} if options.paths else {}
    done = recorded(options.output, settings)
    for batch in range(batches):
        if str(batch) in done:
            continue
        count = min(BATCH, options.count - batch * BATCH)
        share = -(-options.outside // batches)
        drawn = (options.seed, options.long_steps, batch, options.paths)
        done[str(batch)] = verify(count, share, *drawn)
        if options.output:
            tallies = {name: asdict(tally) for name, tally in done.items()}
            record = settings | {"total": asdict(summed(done)), "batches": tallies}
            options.output.write_text(json.dumps(record, indent=1) + "\n")
    return summed(done)


def recorded(path: Path | None, settings: dict[str, Any]) -> dict[str, Tally]:
    """The batches of an earlier run with the same settings."""
    if path is None or not path.exists():
        return {}
    record = json.loads(path.read_text())
    if any(record.get(name) != value for name, value in settings.items()):
        raise SystemExit(f"error: {path} holds a run with other settings")
    return {name: Tally(**tally) for name, tally in record["batches"].items()}


def summed(done: dict[str, Tally]) -> Tally:
    return sum(done.values(), Tally())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--outside", type=int, default=2_500, help="problems given to cvxpy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--long-steps", type=int, default=5_000)
    parser.add_argument("--paths", action="store_true", help="examine points of paths")
    parser.add_argument("--output", type=Path, help="JSON file to record in and to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)
    total = verify_all(options)
    print(
        f"{total.problems} problems, {total.outside} of them also with cvxpy, {total.certified} "
        f"certified: {total.violations} violations"
    )
    raise SystemExit(1 if total.violations else 0)


if __name__ == "__main__":
    main()
