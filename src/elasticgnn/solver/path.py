"""Solutions for many lambda1, each started from what the ones before it say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.ascend import Stop
from elasticgnn.solver.halving import solve_halving
from elasticgnn.solver.instance import Array, Instance, build_instance
from elasticgnn.solver.lanes import can_share
from elasticgnn.solver.minimise import Found, first_guess, solve
from elasticgnn.solver.solution import Solution

SIDE_BY_SIDE = 4  # values from which on they are solved side by side
BLIND_SHARE = 0.7  # of the steps that the last value took
BLIND_FROM = 30  # steps: below, a start may well be good enough already


@dataclass(frozen=True)
class Path:
    """One solution per lambda1, in the order asked for."""

    lambda1s: tuple[float, ...]
    solutions: tuple[Solution, ...]

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    @property
    def steps(self) -> int:
        return sum(solution.steps for solution in self.solutions)

    @property
    def certified(self) -> bool:
        return all(solution.certified for solution in self.solutions)


def minimise_path(
    x: Tensor,
    graph: Graph,
    lambda1s: Sequence[float],
    *,
    lambda2: float = 0.0,
    norm: str = "l21",
    data_weight: Tensor | None = None,
    order: int = 0,
    rtol: float = 1e-6,
) -> Path:
    """The solution for every lambda1.

    The dual is piecewise linear in lambda1 for one channel, and nearly so for several. Several
    values are solved side by side, half of them from the line between two known duals
    (solver/halving.py). Where that cannot be (missing values, order > 0, rtol below float32's
    reach) each solve begins at the line through the last two duals, from the smallest value up.
    """
    values = [float(value) for value in lambda1s]
    instances: dict[float, Instance] = {}
    for value in sorted(set(values)):
        penalty = ElasticPenalty(value, lambda2, norm)
        if not instances or not math.isfinite(value):
            problem = build_instance(x, graph, penalty, data_weight, order)
        instances[value] = replace(problem, lambda1=value)
    found = _solve_all(instances, rtol)
    solutions = {
        value: one.solution(torch.from_numpy(one.optimum.signal).reshape(x.shape))
        for value, one in found.items()
    }
    return Path(tuple(values), tuple(solutions[value] for value in values))


def _solve_all(instances: dict[float, Instance], rtol: float) -> dict[float, Found]:
    """The solution for each value, which ascend: side by side where that serves."""
    found: dict[float, Found] = {}
    shared = {value: one for value, one in instances.items() if value > 0 and can_share(one, rtol)}
    if len(shared) < SIDE_BY_SIDE:
        shared = {}
    for value in [value for value in instances if value not in shared]:
        stop = Stop(rtol, blind_steps=_blind_steps(instances[value], found))
        found[value] = solve(instances[value], stop, _ahead(instances[value], found))
        if found[value].interrupted:
            raise KeyboardInterrupt
    if shared:
        found |= zip(shared, solve_halving(list(shared.values()), rtol), strict=True)
    return found


def _ahead(instance: Instance, found: dict[float, Found]) -> tuple[Array, Array]:
    """Flow and signal on the line through the two solutions found last."""
    if not found:
        return first_guess(instance, None)
    (second, newer) = list(found.items())[-1]
    flow, signal = newer.optimum.flow, newer.optimum.signal
    if len(found) == 1:
        return flow, signal
    (first, older) = list(found.items())[-2]
    # a long way ahead the line says little, and the flow must not grow faster than its ball
    share = min((instance.lambda1 - second) / (second - first), 2.0)
    ahead = flow + share * (flow - older.optimum.flow)
    return ahead, signal + min(share, 1.0) * (signal - older.optimum.signal)


def _blind_steps(instance: Instance, found: dict[float, Found]) -> int:
    """Steps to take before the first check: neighbours on the path need about as many."""
    if not found or len(instance.missing):
        return 0
    last = list(found.values())[-1].steps
    return int(BLIND_SHARE * last) if last >= BLIND_FROM else 0
