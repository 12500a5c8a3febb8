"""Solutions for many lambda1, each started from what the ones before it say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.certificate.measure import Verdict
from elasticgnn.solver.found import Found
from elasticgnn.solver.methods.choice import choose
from elasticgnn.solver.methods.stopping import BLIND_AHEAD, BLIND_AHEAD_FROM, Stop
from elasticgnn.solver.minimise import first_guess, solve
from elasticgnn.solver.paths.halving import solve_halving
from elasticgnn.solver.paths.lanes import can_share
from elasticgnn.solver.problem.extras import Extras
from elasticgnn.solver.problem.instance import Array, Instance, build_instance
from elasticgnn.solver.problem.units import Prepared, prepare
from elasticgnn.solver.solution import Solution

SIDE_BY_SIDE = 4  # values from which on they are solved side by side


@dataclass(frozen=True)
class Path:
    """One solution per lambda1, in the order asked for.

    >>> from elasticgnn.solver import minimise_path
    >>> path = minimise_path(x, chain, [0.5, 0.1])
    >>> path.lambda1s, path.certified
    ((0.5, 0.1), True)
    """

    lambda1s: tuple[float, ...]
    solutions: tuple[Solution, ...]

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @property
    def steps(self) -> int:
        """Steps over all strengths together."""
        return sum(solution.steps for solution in self.solutions)

    @property
    def certified(self) -> bool:
        """Whether every solution is certified."""
        return all(solution.certified for solution in self.solutions)

    @property
    def usable(self) -> bool:
        """Whether all are certified, or as good as float64 can show."""
        return all(one.verdict is not Verdict.UNCERTIFIED for one in self.solutions)


@np.errstate(all="ignore")
def minimise_path(
    x: Tensor,
    graph: Graph,
    lambda1s: Sequence[float],
    *,
    lambda2: float = 0.0,
    norm: str = "l21",
    data_weight: Tensor | None = None,
    order: int = 0,
    boundary: str = "graph",
    rtol: float = 1e-6,
    extras: Extras | None = None,
) -> Path:
    """The solution for every lambda1.

    The dual is piecewise linear in lambda1 for one channel, and nearly so for several. Several
    values are solved side by side, half of them from the line between two known duals
    (solver/paths/halving.py). Where that cannot be (missing values, order > 0, rtol below float32's
    reach) each solve begins at the line through the last two duals, from the smallest value up.
    `extras` holds what minimise takes beside: loss, bounds, sparsity, strengths per row or channel.

    >>> from elasticgnn.solver import minimise_path
    >>> [len(one.pieces().unique()) for one in minimise_path(x, chain, [0.02, 0.3, 5.0]).solutions]
    [4, 2, 1]
    """
    values = [float(value) for value in lambda1s]
    problems: dict[float, Prepared] = {}
    for value in sorted(set(values)):
        penalty = ElasticPenalty(value, lambda2, norm)
        if not problems or not math.isfinite(value):
            options = (data_weight, order, boundary, extras)
            prepared = prepare(build_instance(x, graph, penalty, *options))
        problems[value] = prepared.with_lambda1(value)
    found = _solve_all(problems, rtol)
    solutions = {
        value: one.solution(torch.from_numpy(one.optimum[0]).reshape(x.shape))
        for value, one in found.items()
    }
    return Path(tuple(values), tuple(solutions[value] for value in values))


def _solve_all(problems: dict[float, Prepared], rtol: float) -> dict[float, Found]:
    """The solution for each value, which ascend: side by side where that serves."""
    found: dict[float, Found] = {}
    shared = {value: one for value, one in problems.items() if value > 0 and _shares(one, rtol)}
    if len(shared) < SIDE_BY_SIDE:
        shared = {}
    for value in [value for value in problems if value not in shared]:
        stop = Stop(rtol, unchecked_steps=_unchecked_steps(problems[value].instance, found))
        found[value] = solve(problems[value], stop, _ahead(problems[value], found))
        if found[value].outcome.interrupted:
            raise KeyboardInterrupt
    if shared:
        found |= zip(shared, solve_halving(list(shared.values()), rtol), strict=True)
    return found


def _shares(prepared: Prepared, rtol: float) -> bool:
    """Whether the ascent is the method, and can run side by side with others."""
    instance = prepared.instance
    return choose(instance)[0].name == "ascent" and can_share(instance, rtol)


def _ahead(prepared: Prepared, found: dict[float, Found]) -> tuple[Array, Array]:
    """Flow and signal on the line through the two solutions found last."""
    if not found:
        return first_guess(prepared, None)
    newer = list(found.values())[-1]
    flow, signal = newer.outcome.flow, newer.outcome.signal
    if len(found) == 1:
        return flow, signal
    older = list(found.values())[-2]
    first, second = (one.prepared.instance.lambda1 for one in (older, newer))
    # a long way ahead the line says little, and the flow must not grow faster than its ball
    share = min((prepared.instance.lambda1 - second) / (second - first), 2.0)
    ahead = flow + share * (flow - older.outcome.flow)
    return ahead, signal + min(share, 1.0) * (signal - older.outcome.signal)


def _unchecked_steps(instance: Instance, found: dict[float, Found]) -> int:
    """Steps to take before the first check: neighbours on the path need about as many."""
    if not found or len(instance.missing):
        return 0
    last = list(found.values())[-1].outcome.steps
    return int(BLIND_AHEAD * last) if last >= BLIND_AHEAD_FROM else 0
