"""The choice of lambda1 and lambda2: held-out nodes, or Stein's unbiased risk estimate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.adjoint import Adjoint, split_rows
from elasticgnn.solver.instance import build_instance
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.path import Path, minimise_path
from elasticgnn.solver.solution import Solution

CRITERIA = ("cv", "sure")
FOLDS = 5
PROBES = 4
PROBE_LIMIT = 20_000


@dataclass(frozen=True)
class Selection:
    """The pair with the lowest score, the scores of all pairs, and the solution at the best."""

    lambda1: float
    lambda2: float
    lambda1s: tuple[float, ...]
    lambda2s: tuple[float, ...]
    scores: Tensor  # (len(lambda2s), len(lambda1s)) mean squared error, held out or estimated
    solution: Solution


def cross_validate(
    x: Tensor,
    graph: Graph,
    lambda1s: Sequence[float],
    lambda2s: Sequence[float] = (0.0,),
    *,
    norm: str = "l21",
    criterion: str = "cv",
    data_weight: Tensor | None = None,
    generator: torch.Generator,
) -> Selection:
    """The best of lambda1s x lambda2s and its solution.

    "cv": mean squared error at nodes left out in turn, interpolated from the others.
    "sure": |F - X|^2 / N - sigma^2 + 2 sigma^2 df / N with N the number of values, df the trace of
    the derivative of F in X (for "l1" and lambda2 = 0 the number of constant pieces) and sigma
    estimated from the differences along edges.
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {CRITERIA}, got {criterion!r}")
    if not lambda1s or not lambda2s:
        raise ValueError("lambda1s and lambda2s must not be empty")
    given = torch.ones(graph.num_nodes) if data_weight is None else data_weight
    score = {"cv": _held_out, "sure": _stein}[criterion]
    question = Question(x, graph, tuple(lambda1s), norm, given)
    scores = torch.stack([score(question, lambda2, generator) for lambda2 in lambda2s])
    best2, best1 = divmod(int(scores.argmin()), len(lambda1s))
    penalty = ElasticPenalty(float(lambda1s[best1]), float(lambda2s[best2]), norm)
    return Selection(
        float(lambda1s[best1]),
        float(lambda2s[best2]),
        tuple(lambda1s),
        tuple(lambda2s),
        scores,
        minimise(x, graph, penalty, data_weight=data_weight),
    )


@dataclass(frozen=True)
class Question:
    """Which of lambda1s suits this signal, for one lambda2 at a time."""

    x: Tensor
    graph: Graph
    lambda1s: tuple[float, ...]
    norm: str
    data_weight: Tensor

    def path(self, lambda2: float, data_weight: Tensor, rtol: float) -> Path:
        """The solutions for all lambda1s with other weights of the data."""
        return minimise_path(
            self.x,
            self.graph,
            self.lambda1s,
            lambda2=lambda2,
            norm=self.norm,
            data_weight=data_weight,
            rtol=rtol,
        )


def _held_out(question: Question, lambda2: float, generator: torch.Generator) -> Tensor:
    """Mean squared error at held-out nodes per lambda1."""
    given, rows = question.data_weight.double(), question.x.detach().double()
    fold = _folds(question.graph, given, generator)
    error, count = torch.zeros(len(question.lambda1s), dtype=torch.float64), 0
    for k in range(FOLDS):
        out = fold == k
        if not bool(out.any()):
            continue
        path = question.path(lambda2, torch.where(out, 0.0, given), rtol=1e-4)
        error += torch.stack([(s.value[out] - rows[out]).square().sum() for s in path])
        count += rows[out].numel()
    return error / max(count, 1)


def _folds(graph: Graph, given: Tensor, generator: torch.Generator) -> Tensor:
    """The fold of each node (n,); -1 for nodes without data and for one node per component."""
    fold = torch.randint(FOLDS, (graph.num_nodes,), generator=generator)
    fold[given == 0] = -1
    seen = (given > 0).nonzero().flatten()
    labels = graph.component_labels[seen]
    order = torch.randperm(len(seen), generator=generator)
    keeper = torch.full((graph.num_components,), -1)
    keeper[labels[order]] = seen[order]  # some node of each component, by the random order
    fold[keeper[keeper >= 0]] = -1
    return fold


def _stein(question: Question, lambda2: float, generator: torch.Generator) -> Tensor:
    """Stein's unbiased estimate of the mean squared error per lambda1."""
    x, graph, given = question.x, question.graph, question.data_weight
    path, seen = question.path(lambda2, given, rtol=1e-6), given > 0
    variance, total = noise_level(x, graph, given) ** 2, x[seen].numel()
    scores = []
    for value, solution in zip(question.lambda1s, path, strict=True):
        penalty = ElasticPenalty(float(value), lambda2, question.norm)
        misfit = float((solution.value - x.detach().double())[seen].square().sum())
        freedom = degrees_of_freedom(x, graph, penalty, solution, given, generator)
        scores.append(misfit / total - variance + 2 * variance * freedom / total)
    return torch.tensor(scores, dtype=torch.float64)


def noise_level(x: Tensor, graph: Graph, data_weight: Tensor) -> float:
    """sigma from the median absolute difference along edges, most of which cross no jump."""
    both = (data_weight[graph.tail] > 0) & (data_weight[graph.head] > 0)
    rows = x.detach().double()
    steps = (rows[graph.tail[both]] - rows[graph.head[both]]).abs()
    return float(steps.median()) / (0.6744897501960817 * 2**0.5) if steps.numel() else 0.0


def noise_grid(x: Tensor, graph: Graph, data_weight: Tensor, count: int = 16) -> list[float]:
    """Values of lambda1 around the noise level, where the useful ones lie; [0] without noise."""
    sigma = noise_level(x, graph, data_weight) / max(float(graph.scale.detach().mean()), 1e-12)
    powers = torch.linspace(-1.0, 1.5, count, dtype=torch.float64)
    return [float(sigma * 10**power) for power in powers] if sigma > 0 else [0.0]


def degrees_of_freedom(  # a solved problem and a source of probes
    x: Tensor,
    graph: Graph,
    penalty: ElasticPenalty,
    solution: Solution,
    data_weight: Tensor,
    generator: torch.Generator,
) -> float:
    """The trace of dF/dX: the pieces where that is exact, else estimated with random probes.

    Beyond PROBE_LIMIT values the pieces times the channels stand in, an upper end.
    """
    instance = build_instance(x, graph, penalty, data_weight, 0)
    signal = solution.value.detach().numpy().reshape(instance.x.shape)
    channels = instance.x.shape[1]
    if instance.entrywise and instance.lambda2 == 0:
        counts = [_count_pieces(solution, k) for k in range(channels)]
        return float(sum(counts))
    if instance.x.size > PROBE_LIMIT:
        return float(channels * (int(solution.pieces().max()) + 1))
    adjoint = Adjoint(instance, split_rows(instance, signal, 1e-6))
    shape = (PROBES, *instance.x.shape)
    probes = torch.randint(2, shape, generator=generator).double().numpy() * 2 - 1
    weight = instance.data_weight[:, None]
    traces = [(p * weight * adjoint.solve(p)[0]).sum() for p in probes]
    return float(np.mean(traces))


def _count_pieces(solution: Solution, channel: int) -> int:
    rows = solution.value.detach()
    column = rows[:, channel] if rows.ndim == 2 else rows
    return int(replace(solution, value=column).pieces().max()) + 1
