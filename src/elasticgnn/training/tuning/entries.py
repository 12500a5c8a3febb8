"""The rows of the leaderboard, and what the graph is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.leaderboard import Entry, Estimate
from elasticgnn.training.tuning.outcome import Outcome


def gain(holdout: Holdout, best: Outcome, rival: Outcome) -> Estimate:
    """What looking at the edges is worth, on held-out nodes."""
    with_graph, without = (best, rival) if best.candidate.needs_graph else (rival, best)
    return holdout.difference(holdout.outputs_of(with_graph), holdout.outputs_of(without))


def families_of(ranked: list[Outcome]) -> list[str]:
    """The families in the order of their best."""
    return list(dict.fromkeys(outcome.candidate.family for outcome in ranked))


def leaderboard_entries(
    ranked: list[Outcome], holdout: Holdout, estimate: Estimate
) -> tuple[Entry, ...]:
    """A row for each family; the winner's is what is printed of it elsewhere, too."""
    rows = [describe(family, ranked, holdout) for family in families_of(ranked)]
    return (replace(rows[0], held_out=estimate), *rows[1:])


def describe(family: str, ranked: list[Outcome], holdout: Holdout) -> Entry:
    """A family's row; those that were refitted for the holdout have their measure there."""
    own = [outcome for outcome in ranked if outcome.candidate.family == family]
    best = own[0]
    is_measured = holdout.has_time and best is not ranked[0]
    seen = holdout.estimate(holdout.outputs_of(best)) if is_measured else None
    deviation = float(np.nanstd(best.scores))
    settings, members = best.candidate.settings, best.members
    return Entry(family, settings, best.mean, deviation, len(own), seen, members, len(best.scores))
