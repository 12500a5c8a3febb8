"""Solutions for many lambda1, each started from what the ones before it say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.ascend import Stop
from elasticgnn.solver.instance import Array, Instance, build_instance
from elasticgnn.solver.minimise import Found, first_guess, solve
from elasticgnn.solver.solution import Solution

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
    """The solution for every lambda1, solved from the smallest up with warm starts.

    The dual is piecewise linear in lambda1 for one channel, and nearly so for several: each solve
    begins at the line through the last two duals.
    """
    values = [float(value) for value in lambda1s]
    found: dict[float, Found] = {}
    problem: Instance | None = None
    for value in sorted(set(values)):
        penalty = ElasticPenalty(value, lambda2, norm)
        if problem is None or not math.isfinite(value):
            problem = build_instance(x, graph, penalty, data_weight, order)
        instance = replace(problem, lambda1=value)
        stop = Stop(rtol, blind_steps=_blind_steps(instance, found))
        found[value] = solve(instance, stop, _ahead(instance, found))
        if found[value].interrupted:
            raise KeyboardInterrupt
    solutions = {
        value: one.solution(torch.from_numpy(one.optimum.signal).reshape(x.shape))
        for value, one in found.items()
    }
    return Path(tuple(values), tuple(solutions[value] for value in values))


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
