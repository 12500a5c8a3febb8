"""Solutions for many lambda1, each started from what the ones before it say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.solution import Solution


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
    found: dict[float, Solution] = {}
    before: list[tuple[float, Solution]] = []
    for value in sorted(set(values)):
        found[value] = minimise(
            x.detach(),
            graph,
            ElasticPenalty(value, lambda2, norm),
            data_weight=data_weight,
            order=order,
            rtol=rtol,
            start=_extrapolated(before, value),
        )
        before = [*before[-1:], (value, found[value])]
    return Path(tuple(values), tuple(found[value] for value in values))


def _extrapolated(before: list[tuple[float, Solution]], value: float) -> Solution | None:
    """The last solution with its dual moved along the path to lambda1 = value."""
    if len(before) < 2:
        return before[-1][1] if before else None
    (first, older), (second, newer) = before
    share = (value - second) / (second - first)
    # a long way ahead the line says little, and the dual must not grow faster than its ball
    share = min(share, 2.0)
    dual = newer.dual + share * (newer.dual - older.dual)
    value_ahead = newer.value + min(share, 1.0) * (newer.value - older.value)
    return replace(newer, dual=dual, value=torch.as_tensor(value_ahead))
