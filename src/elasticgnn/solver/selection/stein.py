"""Stein's unbiased estimate of the risk, also for rounded data."""

import math
from dataclasses import replace

import torch

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.derivative.freedom import degrees_of_freedom
from elasticgnn.solver.selection.noise import root_mean_square, rounding_steps
from elasticgnn.solver.selection.problem import Scores, SelectionProblem

SURE_RTOL = 1e-6
SPREADS = 4  # of rounded data
FEW_VALUES = 20_000  # of which one spread would leave the choice to chance


def stein(problem: SelectionProblem, lambda2: float, generator: torch.Generator) -> Scores:
    """Stein's unbiased estimate of the mean squared error per lambda1.

    Neighbours that rounding made equal are joined by the least strength, as if they had no noise of
    their own. So rounded data are spread evenly over their steps again, more than once if few.
    """
    steps = rounding_steps(problem.x, problem.graph, problem.data_weight)
    if not bool(steps.any()):
        return _stein_once(problem, lambda2, generator)
    found = []
    for _ in range(SPREADS if problem.x.numel() <= FEW_VALUES else 1):
        shift = torch.rand(problem.x.shape, generator=generator, dtype=torch.float64) - 0.5
        width = steps if problem.x.ndim == 2 else steps[0]
        sigma = math.hypot(problem.sigma, root_mean_square(steps.numpy()) / 12**0.5)
        spread = replace(problem, x=problem.x.detach().double() + width * shift, sigma=sigma)
        found.append(_stein_once(spread, lambda2, generator))
    mean = torch.stack([one.mean for one in found]).mean(0)
    return Scores(mean, torch.zeros_like(mean), all(one.certified for one in found))


def _stein_once(problem: SelectionProblem, lambda2: float, generator: torch.Generator) -> Scores:
    """The same of data as they are."""
    x, graph, given = problem.x, problem.graph, problem.data_weight
    path = problem.path(lambda2, given, rtol=SURE_RTOL)
    rows = x.detach().double()
    seen = (given > 0) if given.ndim == rows.ndim else (given > 0)[:, None].expand(rows.shape)
    unit, total = problem.unit, int(seen.sum())
    variance = (problem.sigma / unit) ** 2
    scores = []
    for value, solution in zip(problem.lambda1s, path, strict=True):
        penalty = ElasticPenalty(value, lambda2, problem.norm)
        misfit = float((solution.value / unit - rows / unit)[seen].square().sum())
        freedom = degrees_of_freedom(x, graph, penalty, solution, given, generator)
        scores.append(misfit / total - variance + 2 * variance * freedom / total)
    mean = torch.tensor(scores, dtype=torch.float64)
    return Scores(mean, torch.zeros_like(mean), path.usable, path)
