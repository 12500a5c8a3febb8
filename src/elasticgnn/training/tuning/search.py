"""The search of `tune`: every family once, then settings near the best ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import SparseFeatures
from elasticgnn.training.tuning.candidates import Candidate, first_candidates
from elasticgnn.training.tuning.closed_form import (
    closed_form_candidates,
    is_closed_form,
    number_candidates,
)
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import Division
from elasticgnn.training.tuning.outcome import Outcome, joined
from elasticgnn.training.tuning.proposals import propose
from elasticgnn.training.wrappers.hops import hops_within

Progress = Callable[[int, float], None]
HOP_VALUES = 30_000_000  # stored of features and their means over neighbours, at most
MOST_OUTCOMES = 150
FEW = 5  # folds that are measured whatever the time


def search(
    evaluation: Evaluation,
    division: Division,
    seconds: float,
    rng: np.random.Generator,
    progress: Progress | None,
    *,
    balanced: bool = False,
) -> list[Outcome]:
    """Every family once, then settings near the best of two families while there is time."""
    began = time.perf_counter()
    of_numbers = evaluation.unit is not None
    quick, first = candidates(evaluation, balanced=balanced)
    folds = affordable_folds(evaluation, quick, first, division.folds, seconds)
    outcomes = evaluation.measure(quick, folds, seconds / 10)
    outcomes += first_round(evaluation, first, folds, seconds)
    trained = [o for o in outcomes if not is_closed_form(o.candidate)]
    report_progress(progress, outcomes)
    while (
        trained and time.perf_counter() - began < 0.55 * seconds and len(outcomes) < MOST_OUTCOMES
    ):
        best = sorted(trained, key=lambda o: (len(o.scores), o.mean), reverse=True)
        if best[0].is_cut:  # its own next epochs are worth more than other settings
            break
        more = [
            candidate
            for leader in leaders(best)
            for candidate in propose(of_family(leader, trained), rng, 4, of_numbers=of_numbers)
        ]
        if not more:
            break
        left = 0.7 * seconds - (time.perf_counter() - began)
        found = raced(evaluation, more, trained, folds, left / 2)
        outcomes, trained = outcomes + found, trained + found
        report_progress(progress, outcomes)
    best = sorted(outcomes, key=lambda o: (len(o.scores), o.mean), reverse=True)
    if best[0].is_cut:
        left = 0.85 * seconds - (time.perf_counter() - began)
        outcomes += evaluation.measure([best[0].candidate], folds, left)
    return outcomes


def candidates(
    evaluation: Evaluation, *, balanced: bool
) -> tuple[list[Candidate], list[Candidate]]:
    """Models in closed form, and the first settings of each family of networks."""
    has_features = not evaluation.task.made_features
    closed_form = closed_form_candidates if evaluation.unit is None else number_candidates
    hops = affordable_hops(evaluation.task) if has_features else 0
    quick = closed_form(has_features=has_features, hops=hops)
    large = evaluation.is_large
    first = first_candidates(large=large, has_features=has_features, hops=hops)
    return quick, [replace(c, plan=replace(c.plan, balanced=balanced)) for c in first]


def affordable_folds(
    evaluation: Evaluation,
    quick: list[Candidate],
    first: list[Candidate],
    folds: tuple[Split, ...],
    seconds: float,
) -> tuple[Split, ...]:
    """The first of many folds, FEW or as many more as there is time for; up to FEW are all taken.

    Everything is measured on the same ones: models in closed form take what they take, however
    many the folds, and networks that are trained for a moment on each tell nothing. A comparison
    that goes on keeps to the folds it had.
    """
    if len(folds) <= FEW:
        return folds
    before = 0 if evaluation.known is None else evaluation.known.most_folds
    if before > 1:
        return folds[:before]
    began = time.perf_counter()
    evaluation.measure(quick, folds[:1], seconds / 10)
    each = time.perf_counter() - began
    if FEW * each >= 0.2 * seconds:
        return folds[:FEW]
    pilot = evaluation.measure(first, folds[:1], 0.25 * seconds)
    best = sorted(pilot, key=lambda outcome: outcome.mean, reverse=True)
    trained = sum(outcome.seconds for outcome in leaders(best))
    count = min(0.2 * seconds / max(each, 1e-9), 0.4 * seconds / max(trained, 1e-9))
    return folds[: max(FEW, int(min(count, len(folds))))]


def affordable_hops(task: NodeTask) -> int:
    """Hops whose features take at most a few times as long as the task's own.

    The means of sparse rows fill up: of two hops they can have a hundred times as many values.
    """
    own = task.features
    values = own.num_values if isinstance(own, SparseFeatures) else own.numel()
    return hops_within(own, task.graph, min(HOP_VALUES, 1_000_000 + 4 * values))


def first_round(
    evaluation: Evaluation, first: list[Candidate], folds: tuple[Split, ...], seconds: float
) -> list[Outcome]:
    """Every candidate on all folds where there is time, else the best families of one fold.

    Networks that are cut short tell little, so that few in full are better than many in part.
    """
    began = time.perf_counter()
    pilot = evaluation.measure(first, folds[:1], 0.25 * seconds)
    if len(folds) == 1 and not any(outcome.is_cut for outcome in pilot):
        return pilot
    if len(folds) * (time.perf_counter() - began) < 0.35 * seconds:
        return evaluation.measure(first, folds, 0.4 * seconds)
    best = sorted(pilot, key=lambda outcome: outcome.mean, reverse=True)
    chosen = [outcome.candidate for outcome in leaders(best, 2)]
    left_out = [outcome for outcome in pilot if outcome.candidate not in chosen]
    return evaluation.measure(chosen, folds, 0.4 * seconds) + left_out


def raced(
    evaluation: Evaluation,
    more: list[Candidate],
    known: list[Outcome],
    folds: tuple[Split, ...],
    seconds: float,
) -> list[Outcome]:
    """Outcomes on all folds of those that are not below the median of `known` on the first one.

    The others stay with their one fold.
    """
    if len(folds) == 1:
        return evaluation.measure(more, folds, seconds)
    began = time.perf_counter()
    first = evaluation.measure(more, folds[:1], seconds / len(folds))
    bar = float(np.nanmedian([outcome.scores[0] for outcome in known]))
    good = [outcome for outcome in first if outcome.mean >= bar and not outcome.is_cut]
    left = seconds - (time.perf_counter() - began)
    rest = evaluation.measure([outcome.candidate for outcome in good], folds[1:], left)
    others = {outcome.candidate: outcome for outcome in rest}
    return [
        joined([outcome, others[outcome.candidate]]) if outcome.candidate in others else outcome
        for outcome in first
    ]


def leaders(best: list[Outcome], count: int = 2) -> list[Outcome]:
    """The best of each of the `count` best families."""
    families = list(dict.fromkeys(outcome.candidate.family for outcome in best))[:count]
    return [next(o for o in best if o.candidate.family == family) for family in families]


def of_family(leader: Outcome, outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes of the leader's family."""
    return [o for o in outcomes if o.candidate.family == leader.candidate.family]


def report_progress(progress: Progress | None, outcomes: list[Outcome]) -> None:
    """Tells the best score so far."""
    if progress is not None:
        progress(1, max(outcome.mean for outcome in outcomes))
