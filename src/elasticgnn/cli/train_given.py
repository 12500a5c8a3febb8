"""`elasticgnn train` with given settings: a training on every split, the best one saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from elasticgnn.cli.train_report import Places, report

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask, Split
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainingPlan
    from elasticgnn.training.repeats.repeat import Repeated


@dataclass(frozen=True)
class GivenRequest:
    """What the options say of the trainings."""

    settings: ModelSettings
    plan: TrainingPlan
    seed: int
    own: bool  # whether the files are one's own, whose features are prepared


def train_given(task: NodeTask, asked: GivenRequest, splits: list[Split], places: Places) -> None:
    """Trains on every split, prints what came out, and writes the best model."""
    from elasticgnn.training.model.preparation import prepared_own
    from elasticgnn.training.repeats.facts import best_model, describe

    ready, preparation = prepared_own(task) if asked.own else (task, None)
    repeated = run(ready, asked, splits, shown=not places.as_json)
    facts = describe(task, repeated, asked.seed, by_id=asked.own)
    if places.output is not None or places.page is not None:
        best = replace(best_model(task, repeated, facts), preparation=preparation)
        facts |= places.write(best, task)
    report(facts, places.as_json)


def run(task: NodeTask, asked: GivenRequest, splits: list[Split], *, shown: bool) -> Repeated:
    """Trains on every split with a progress bar."""
    from elasticgnn.cli.progress import progress_bar
    from elasticgnn.training.repeats.repeat import fit_repeatedly

    settings, plan = asked.settings, asked.plan
    total = len(splits) * plan.epochs
    with progress_bar(f"{settings.name} on {task.name}", total, shown=shown) as tick:
        return fit_repeatedly(task, splits, settings, plan, seed=asked.seed, progress=tick)
