"""Is the certificate ever wrong? Random problems against an outside solver and a far longer run.

    python scripts/verify_certificate.py --count 10000 --output benchmarks/results/certificate.json

A violation is any signal, wherever it comes from, whose objective lies below objective - gap, or a
proven lower bound above the objective. Small problems are also given to cvxpy with Clarabel.
Prints one line per violation and a summary; the exit code is 1 if there was one. With --output
each hundred problems are recorded when done, and a run that was stopped goes on after them.
--join takes in the batches that other runs with the same settings recorded (see --parts).
--sparse sends every system through the compiled sparse Cholesky, narrow bands too.
--paths examines the same problems as points of a path of seven values of lambda1.
"""

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from certificate_problems import Problem, objective, outside_signal, random_problem
from numpy.random import Generator

from elasticgnn.solver import Solution, Verdict
from elasticgnn.solver.linear_algebra import assembly, factor

OUTSIDE_NODES = 10  # largest problem that the outside solver is asked about
BATCH = 100  # problems per entry of the record
DIGITS = 60  # of an objective that decides whether there is a violation
DRAWN = 3  # version of the problems: a record of others is not gone on from


def examine(
    problem: Problem, rng: Generator, *, outside: bool, long_steps: int, on_path: bool = False
) -> tuple[Solution, bool, list[str]]:
    """One solve at a random precision, whether it had all its steps, and what contradicts it."""
    rtol, steps = 10.0 ** rng.uniform(-6, -1), None
    if rng.random() < 0.3:
        rtol, steps = 10.0 ** rng.uniform(-8, -1), int(rng.integers(0, 300))
    method = str(rng.choice(["papc", "ascent", "interior"])) if steps is not None else "auto"
    if problem.instance.terms is not None or problem.instance.channel_strength is not None:
        method = "auto"
    solution = problem.solve_on_path(rtol) if on_path else problem.solve(rtol, steps, method)
    lower = solution.objective - solution.gap
    rivals = {"longer run": problem.solve(1e-13, long_steps)}
    found = []
    if not solution.gap >= 0 or solution.certified != _is_certified(solution, rtol):
        found.append(f"gap {solution.gap} and certified {solution.certified} disagree")
    signals = {name: filled(rival.value) for name, rival in rivals.items()}
    signals["itself"] = filled(solution.value)
    if outside:
        answer = outside_signal(problem)
        signals |= {} if answer is None else {"cvxpy": answer}
    slack = 1e-13 * abs(solution.objective)  # the last digits of `objective - gap` itself
    for name, signal in signals.items():
        value = objective(problem, signal)
        if value < lower - slack and (value := objective(problem, signal, DIGITS)) < lower - slack:
            found.append(f"{name} reaches {value!r}, below the bound {lower!r}")
    best = rivals["longer run"]
    bound = best.objective - best.gap
    # the reported objective rounds by less than its gap: what the signal really has decides
    if bound > solution.objective + slack and bound > exactly(problem, solution) + slack:
        found.append(f"bound {bound!r} above {solution.objective!r}")
    return solution, steps is None, found + _too_far(problem, solution, best)


def exactly(problem: Problem, solution: Solution) -> float:
    """The objective of the very signal that was returned."""
    return objective(problem, filled(solution.value), DIGITS)


def filled(value: torch.Tensor) -> np.ndarray:
    """A signal with 0 where a component without values has none."""
    return np.nan_to_num(value.numpy(), nan=0.0, posinf=np.inf, neginf=-np.inf)


def _is_certified(solution: Solution, rtol: float) -> bool:
    """Within rtol; a gap at its rounding floor counts too, and only the solver knows the floor."""
    return solution.certified or solution.relative_gap <= rtol


def _too_far(problem: Problem, solution: Solution, best: Solution) -> list[str]:
    """The distance bound, seen from a signal whose own distance from the optimum is bounded."""
    c = problem.instance.data_weight
    off = np.sqrt(c) * (filled(solution.value) - filled(best.value))
    away = float(np.linalg.norm(off / max(np.abs(off).max(initial=0.0), 1e-300)))
    away *= float(np.abs(off).max(initial=0.0))
    limit = solution.distance_bound + best.distance_bound
    noise = 1e-12 * float(np.abs(np.sqrt(c) * problem.instance.x).sum())
    return [f"distance {away} beyond {limit}"] if away > limit + noise else []


@dataclass(frozen=True)
class Tally:
    """What a number of problems showed."""

    problems: int = 0
    outside: int = 0  # given to cvxpy too
    certified: int = 0
    unlimited: int = 0  # solved without a limit of steps, by the method that was chosen
    unlimited_certified: int = 0
    unlimited_at_floor: int = 0  # not certified, but as good as rounding lets it be shown
    violations: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        sums = {name: value + getattr(other, name) for name, value in asdict(self).items()}
        return Tally(**sums)


def is_for_others(problem: Problem) -> bool:
    """Whether an outside solver can be asked: small, and of ordinary size."""
    largest = float(problem.x.abs().max()) if problem.x.numel() else 1.0
    if problem.terms.loss.power == 0:
        largest = 1.0
    return problem.graph.num_nodes <= OUTSIDE_NODES and 1e-4 < largest < 1e7


def verify(
    count: int, outside: int, seed: int, long_steps: int, batch: int = 0, on_path: bool = False
) -> Tally:
    """The tally of `count` problems drawn with (seed, batch), `outside` of them given to cvxpy."""
    rng = np.random.default_rng((seed, batch))
    total = Tally()
    for number in range(count):
        problem = random_problem(rng)
        ask = total.outside < outside and is_for_others(problem)
        solution, whole, found = examine(
            problem, rng, outside=ask, long_steps=long_steps, on_path=on_path
        )
        total += Tally(
            problems=1,
            outside=int(ask),
            certified=int(solution.certified),
            unlimited=int(whole),
            unlimited_certified=int(whole and solution.certified),
            unlimited_at_floor=int(whole and solution.verdict is Verdict.ROUNDING_FLOOR),
            violations=int(bool(found)),
        )
        for text in found:
            print(f"problem {number} of batch {batch}: {problem}: {text}")
    return total


def verify_all(options: argparse.Namespace) -> Tally:
    """All batches; those recorded in the output are not run again."""
    batches = -(-options.count // BATCH)
    settings = {
        "drawn": DRAWN,
        "outside": options.outside,
        "seed": options.seed,
        "long_steps": options.long_steps,
    }
    settings |= {name: True for name in ("paths", "sparse") if getattr(options, name)}
    done = recorded(options.output, settings)
    for other in options.join:
        done |= recorded(other, settings)
    for batch in range(options.part, batches, options.parts):
        if str(batch) in done:
            continue
        count = min(BATCH, options.count - batch * BATCH)
        share = -(-options.outside // batches)
        drawn = (options.seed, options.long_steps, batch, options.paths)
        done[str(batch)] = verify(count, share, *drawn)
        write(options.output, settings, done)
    write(options.output, settings, done)
    return summed(done)


def write(path: Path | None, settings: dict[str, Any], done: dict[str, Tally]) -> None:
    """The record, batches in their order."""
    if path is None:
        return
    tallies = {name: asdict(done[name]) for name in sorted(done, key=int)}
    record = settings | {"total": asdict(summed(done)), "batches": tallies}
    path.write_text(json.dumps(record, indent=1) + "\n")


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
    parser.add_argument("--sparse", action="store_true", help="no factor within a band")
    parser.add_argument("--part", type=int, default=0, help="run every parts-th batch from this")
    parser.add_argument("--parts", type=int, default=1)
    parser.add_argument("--join", type=Path, nargs="*", default=[], help="records of other parts")
    parser.add_argument("--output", type=Path, help="JSON file to record in and to go on from")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.sparse:
        factor.WIDEST_BAND = assembly.WIDEST_BAND = -1
    total = verify_all(options)
    print(
        f"{total.problems} problems, {total.outside} of them also with cvxpy, {total.certified} "
        f"certified: {total.violations} violations; of {total.unlimited} without a limit of steps "
        f"{total.unlimited_certified} certified, {total.unlimited_at_floor} at the rounding floor"
    )
    raise SystemExit(1 if total.violations else 0)


if __name__ == "__main__":
    main()
