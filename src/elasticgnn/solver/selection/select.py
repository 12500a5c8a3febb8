"""The choice of lambda1 and lambda2: held-out nodes, or Stein's unbiased risk estimate."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.losses import Squared, as_loss
from elasticgnn.solver.minimise import minimise
from elasticgnn.solver.problem.extras import Extras
from elasticgnn.solver.problem.geometry import Geometry
from elasticgnn.solver.problem.instance import check_graph
from elasticgnn.solver.selection.noise import noise_level
from elasticgnn.solver.selection.problem import Scores, SelectionProblem
from elasticgnn.solver.selection.stein import SURE_RTOL, stein
from elasticgnn.solver.solution import Solution

CRITERIA = ("cv", "sure")
RULES = ("least", "one-standard-error")
FOLDS = 5


class UncertifiedFoldWarning(UserWarning):
    """Scores rest on solutions that were not certified.

    >>> from elasticgnn.solver import UncertifiedFoldWarning
    >>> issubclass(UncertifiedFoldWarning, UserWarning)
    True
    """


@dataclass(frozen=True)
class Selection:
    """The chosen pair, the scores of all pairs, and the solution at the choice.

    >>> from elasticgnn.solver import cross_validate
    >>> strengths = [0.1, 0.5]
    >>> chosen = cross_validate(x, chain, strengths, criterion="sure", generator=generator)
    >>> chosen.lambda1 in chosen.lambda1s, chosen.certified
    (True, True)
    """

    lambda1: float
    lambda2: float
    lambda1s: tuple[float, ...]
    lambda2s: tuple[float, ...]
    scores: Tensor  # (len(lambda2s), len(lambda1s)) mean squared error, held out or estimated
    errors: Tensor  # the same shape: standard error of each score over the folds; 0 for "sure"
    sigma: float  # the noise level that was given or estimated
    criterion: str
    rule: str
    certified: bool  # every solution that a score rests on
    solution: Solution

    def summary(self) -> str:
        """One line: what was chosen, from what, and why."""
        how = {"cv": "held-out nodes", "sure": "Stein's estimate of the risk"}[self.criterion]
        words = "the lowest score" if self.rule == "least" else "the one-standard-error rule"
        if self.lambda1s == (0.0,):
            return "lambda1 0: no noise was found in the signal, which is left as it is"
        ends = {min(self.lambda1s): ", the smallest", max(self.lambda1s): ", the largest"}
        end = ends.get(self.lambda1, "") if len(self.lambda1s) > 1 else ""
        return (
            f"lambda1 {self.lambda1:.6g}{end} of {len(self.lambda1s)} values from "
            f"{min(self.lambda1s):.3g} to {max(self.lambda1s):.3g}, by {how} and {words}; "
            f"noise level {self.sigma:.3g}"
        )


@np.errstate(all="ignore")
def cross_validate(
    x: Tensor,
    graph: Graph,
    lambda1s: Sequence[float],
    lambda2s: Sequence[float] = (0.0,),
    *,
    norm: str = "l21",
    criterion: str = "cv",
    data_weight: Tensor | None = None,
    order: int = 0,
    boundary: str = "graph",
    sigma: float | None = None,
    rule: str = "least",
    rtol: float = 1e-6,
    extras: Extras | None = None,
    generator: torch.Generator,
) -> Selection:
    """The best of lambda1s x lambda2s and its solution.

    "cv": mean squared error at nodes left out in turn, interpolated from the others; an error
    beyond 6 sigma counts as 6 sigma, since what lies between the two sides of a jump is arbitrary.
    "sure": |F - X|^2 / N - sigma^2 + 2 sigma^2 df / N with N the number of values, df the trace of
    the derivative of F in X (for "l1" and lambda2 = 0 the number of constant pieces).
    `sigma` is estimated from the differences along edges unless given. rule "one-standard-error"
    takes the largest lambda1 whose score is within one standard error of the least ("cv").
    With another loss in `extras` its value at held-out nodes is the score; "sure" has no such form.

    >>> from elasticgnn.solver import cross_validate
    >>> options = {"criterion": "sure", "sigma": 0.1, "generator": generator}
    >>> cross_validate(x, chain, [0.1, 0.5], **options).lambda1
    0.1
    """
    extras = Extras() if extras is None else extras
    _check_options(criterion, rule, sigma, extras)
    if not lambda1s or not lambda2s:
        raise ValueError("lambda1s and lambda2s must not be empty")
    given = _weights(graph, data_weight)
    level = noise_level(x, graph, given) if sigma is None else sigma
    values = tuple(map(float, lambda1s))
    problem = SelectionProblem(x, graph, values, norm, given, order, level, boundary)
    problem = replace(problem, extras=extras, unit=_unit(x, given, extras))
    score = {"cv": _held_out, "sure": stein}[criterion]
    found = [score(problem, float(lambda2), generator) for lambda2 in lambda2s]
    scores, errors = (torch.stack([getattr(f, name) for f in found]) for name in ("mean", "error"))
    best2, best1 = _choice(scores, errors, problem.lambda1s, rule)
    penalty = ElasticPenalty(problem.lambda1s[best1], float(lambda2s[best2]), norm)
    solution = _solved_already(found[best2], best1, x, rtol)
    if solution is None:
        solution = _solved_anew(problem, penalty, data_weight, rtol)
    return Selection(
        problem.lambda1s[best1],
        float(lambda2s[best2]),
        problem.lambda1s,
        tuple(map(float, lambda2s)),
        scores * problem.unit * problem.unit,
        errors * problem.unit * problem.unit,
        level,
        criterion,
        rule,
        _warned(all(f.certified for f in found)),
        solution,
    )


def _weights(graph: Graph, data_weight: Tensor | None) -> Tensor:
    """The weights of the data, some of which must be positive."""
    check_graph(graph)
    given = torch.ones(graph.num_nodes) if data_weight is None else data_weight
    if not bool((given > 0).any()):
        raise ValueError("x must have a value for a choice of lambda1, got none with weight > 0")
    return given


def _solved_already(scores: Scores, place: int, x: Tensor, rtol: float) -> Solution | None:
    """The chosen one of the solutions behind the scores, where it is as good as asked for."""
    if scores.path is None or rtol < SURE_RTOL or x.requires_grad:
        return None
    return scores.path.solutions[place]


def _solved_anew(
    problem: SelectionProblem, penalty: ElasticPenalty, data_weight: Tensor | None, rtol: float
) -> Solution:
    """The solution for the chosen strengths, with all data."""
    return minimise(
        *(problem.x, problem.graph, penalty),
        data_weight=data_weight,
        order=problem.order,
        boundary=problem.boundary,
        rtol=rtol,
        **problem.extras.options,
    )


def _unit(x: Tensor, given: Tensor, extras: Extras) -> float:
    """A power of two of the size of the data; 1 for losses that are no squares."""
    seen = (given if given.ndim == x.ndim else given[:, None]) > 0
    largest = float(torch.where(seen, x.detach(), 0.0).abs().max())
    if not isinstance(as_loss(extras.loss), Squared) or not 0 < largest < math.inf:
        return 1.0
    return 2.0 ** min(max(math.frexp(largest)[1], -1000), 1000)


def _check_options(criterion: str, rule: str, sigma: float | None, extras: Extras) -> None:
    if criterion not in CRITERIA:
        raise ValueError(f"criterion must be one of {CRITERIA}, got {criterion!r}")
    if rule not in RULES:
        raise ValueError(f"rule must be one of {RULES}, got {rule!r}")
    if sigma is not None and not sigma >= 0:
        raise ValueError(f"sigma must be a number >= 0, got {sigma}")
    if criterion == "sure" and not extras.is_plain:
        raise ValueError("criterion must be 'cv' for losses, bounds and strengths, got 'sure'")


def _choice(
    scores: Tensor, errors: Tensor, lambda1s: tuple[float, ...], rule: str
) -> tuple[int, int]:
    """Places of the chosen lambda2 and lambda1."""
    best2, best1 = divmod(int(scores.argmin()), scores.shape[1])
    if rule == "least":
        return best2, best1
    limit = scores[best2, best1] + errors[best2, best1]
    good = [k for k in range(len(lambda1s)) if scores[best2, k] <= limit]
    return best2, max(good, key=lambda k: lambda1s[k])


def _warned(certified: bool) -> bool:
    if not certified:
        warnings.warn(
            "some of the solutions behind the scores were not certified",
            UncertifiedFoldWarning,
            stacklevel=4,  # beyond NumPy's decorator: the caller of cross_validate
        )
    return certified


def _held_out(problem: SelectionProblem, lambda2: float, generator: torch.Generator) -> Scores:
    """Mean squared error at held-out nodes, its standard error over the folds, per lambda1."""
    given, rows = problem.data_weight.double(), problem.x.detach().double()
    given, rows = (t[:, None] if t.ndim == 1 else t for t in (given, rows))
    given = given.expand(rows.shape)
    fold = _folds(problem.graph, given, generator)
    means, certified = [], True
    for k in range(FOLDS):
        out = (fold == k)[:, None] & (given > 0)
        if not bool(out.any()):
            continue
        path = problem.path(lambda2, torch.where(out, 0.0, given), rtol=1e-4)
        certified = certified and path.usable
        fitted = [one.value.reshape(rows.shape)[out] for one in path]
        means.append(torch.stack([problem.errors(f, rows[out]).mean() for f in fitted]))
    if not means:
        nothing = torch.zeros(len(problem.lambda1s), dtype=torch.float64)
        return Scores(nothing, nothing, certified)
    table = torch.stack(means)
    error = table.std(0, correction=int(len(means) > 1)) / len(means) ** 0.5
    return Scores(table.mean(0), error, certified)


def _folds(graph: Graph, given: Tensor, generator: torch.Generator) -> Tensor:
    """The fold of each node (n,); -1 for nodes without data and for one node per component."""
    seen_somewhere = (given > 0).any(1)
    fold = torch.randint(FOLDS, (graph.num_nodes,), generator=generator)
    fold[~seen_somewhere] = -1
    seen = seen_somewhere.nonzero().flatten()
    component = torch.from_numpy(Geometry(graph, 0).component).long()
    order = torch.randperm(len(seen), generator=generator)
    anchor = torch.full((int(component.max()) + 1 if len(component) else 0,), -1)
    anchor[component[seen][order]] = seen[order]  # some node of each, by the random order
    fold[anchor[anchor >= 0]] = -1
    return fold
