"""Which settings need how many runs next, and which one a table shows."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from elasticgnn.experiment.record import RunRecord
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import SearchPlan

Records = Mapping[Setting, Mapping[int, RunRecord]]


@dataclass(frozen=True)
class Needs:
    """Runs wanted of each setting; `final` if nothing more will be wanted after them."""

    runs: Mapping[Setting, int]
    final: bool

    def met(self, records: Records) -> bool:
        """Whether every run that is needed has a record."""
        return all(has_runs(records, setting, runs) for setting, runs in self.runs.items())


def needs(
    settings: Sequence[Setting], fixed: Setting, plan: SearchPlan, runs: int, records: Records
) -> Needs:
    """What one model wants by `plan`, given the records so far."""
    if plan.method == "fixed":
        return Needs({fixed: runs}, final=True)
    if plan.method == "grid":
        return Needs(dict.fromkeys(settings, runs), final=True)
    return halving_needs(settings, plan, runs, records)


def halving_needs(
    settings: Sequence[Setting], plan: SearchPlan, runs: int, records: Records
) -> Needs:
    """Successive halving: a rung is filled, ranked by validation accuracy, and cut down."""
    rungs = plan.rungs
    chosen = drawn(settings, rungs[0].keep, plan.seed)
    wanted: dict[Setting, int] = {}
    for index, rung in enumerate(rungs):
        goal = runs if index == len(rungs) - 1 else min(rung.runs, runs)
        wanted.update(dict.fromkeys(chosen, goal))
        last = index == len(rungs) - 1
        if last or not all(has_runs(records, setting, goal) for setting in chosen):
            return Needs(wanted, final=last)
        chosen = best(chosen, rungs[index + 1].keep, goal, records)
    raise AssertionError("a plan has at least one rung")


def drawn(settings: Sequence[Setting], count: int, seed: int) -> list[Setting]:
    """At most `count` settings, drawn without replacement, in the grid's order.

    Those with the lowest numbers of `random.Random(seed).random()`, one per setting: Python keeps
    that sequence the same in all versions. Equal steps through a grid would not do, they meet the
    same values of its last hyperparameters again and again.
    """
    lots = random.Random(seed)
    numbers = [lots.random() for _ in settings]
    lowest = sorted(range(len(settings)), key=numbers.__getitem__)[:count]
    return [settings[index] for index in sorted(lowest)]


def best(chosen: Sequence[Setting], keep: int, runs: int, records: Records) -> list[Setting]:
    """The `keep` settings of highest mean validation accuracy; ties keep the grid's order."""
    return sorted(chosen, key=lambda s: -validation_mean(records[s], runs))[:keep]


def select(settings: Sequence[Setting], runs: int, records: Records) -> Setting | None:
    """The setting a table shows: the best on validation nodes of those with all runs."""
    complete = [setting for setting in settings if has_runs(records, setting, runs)]
    return best(complete, 1, runs, records)[0] if complete else None


def validation_mean(records: Mapping[int, RunRecord], runs: int) -> float:
    """Mean validation value of the first runs."""
    return fmean(records[run].val for run in range(runs))


def has_runs(records: Records, setting: Setting, runs: int) -> bool:
    """Whether the first runs of a setting have records."""
    done = records.get(setting, {})
    return all(run in done for run in range(runs))


def expected_runs(num_settings: int, plan: SearchPlan, runs: int) -> int:
    """Trainings that the whole search of one model takes."""
    if plan.method == "fixed":
        return runs
    if plan.method == "grid":
        return num_settings * runs
    total, done, kept = 0, 0, num_settings
    for index, rung in enumerate(plan.rungs):
        goal = runs if index == len(plan.rungs) - 1 else min(rung.runs, runs)
        kept = min(kept, rung.keep)
        total += kept * (goal - done)
        done = goal
    return total
