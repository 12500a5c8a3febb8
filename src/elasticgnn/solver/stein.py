"""Stein's unbiased estimate of the risk, also for rounded data."""

import math
from dataclasses import replace

import torch

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver.freedom import degrees_of_freedom
from elasticgnn.solver.noise import root_mean_square, rounding_steps
from elasticgnn.solver.question import Question, Scores

SURE_RTOL = 1e-6
SPREADS = 4  # of rounded data
FEW_VALUES = 20_000  # of which one spread would leave the choice to chance


def stein(question: Question, lambda2: float, generator: torch.Generator) -> Scores:
    """Stein's unbiased estimate of the mean squared error per lambda1.

    Neighbours that rounding made equal are joined by the least strength, as if they had no noise of
    their own. So rounded data are spread evenly over their steps again, more than once if few.
    """
    steps = rounding_steps(question.x, question.graph, question.data_weight)
    if not bool(steps.any()):
        return _stein_once(question, lambda2, generator)
    found = []
    for _ in range(SPREADS if question.x.numel() <= FEW_VALUES else 1):
        shift = torch.rand(question.x.shape, generator=generator, dtype=torch.float64) - 0.5
        width = steps if question.x.ndim == 2 else steps[0]
        sigma = math.hypot(question.sigma, root_mean_square(steps.numpy()) / 12**0.5)
        spread = replace(question, x=question.x.detach().double() + width * shift, sigma=sigma)
        found.append(_stein_once(spread, lambda2, generator))
    mean = torch.stack([one.mean for one in found]).mean(0)
    return Scores(mean, torch.zeros_like(mean), all(one.certified for one in found))


def _stein_once(question: Question, lambda2: float, generator: torch.Generator) -> Scores:
    """The same of data as they are."""
    x, graph, given = question.x, question.graph, question.data_weight
    path = question.path(lambda2, given, rtol=SURE_RTOL)
    rows = x.detach().double()
    seen = (given > 0) if given.ndim == rows.ndim else (given > 0)[:, None].expand(rows.shape)
    unit, total = question.unit, int(seen.sum())
    variance = (question.sigma / unit) ** 2
    scores = []
    for value, solution in zip(question.lambda1s, path, strict=True):
        penalty = ElasticPenalty(value, lambda2, question.norm)
        misfit = float((solution.value / unit - rows / unit)[seen].square().sum())
        freedom = degrees_of_freedom(x, graph, penalty, solution, given, generator)
        scores.append(misfit / total - variance + 2 * variance * freedom / total)
    mean = torch.tensor(scores, dtype=torch.float64)
    return Scores(mean, torch.zeros_like(mean), path.usable, path)
