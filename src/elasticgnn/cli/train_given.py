"""`elasticgnn train` with given settings: a training on every split, the best one saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.cli.train_report import describe, report, write_outputs

if TYPE_CHECKING:
    from elasticgnn.data import NodeTask, Split
    from elasticgnn.nn import ModelSettings
    from elasticgnn.training import TrainedModel, TrainingPlan
    from elasticgnn.training.repeat import Repeated

SPLITS, MANY_NODES = 10, 100_000


@dataclass(frozen=True)
class GivenRequest:
    """What the options say of the trainings."""

    settings: ModelSettings
    plan: TrainingPlan
    seed: int
    own: bool  # whether the files are one's own, whose features are prepared


def train_given(
    task: NodeTask,
    asked: GivenRequest,
    splits: list[Split],
    output: Path | None,
    page: Path | None,
    as_json: bool,
) -> None:
    """Trains on every split, prints what came out, and writes the best model to `output`."""
    from elasticgnn.training.preparation import prepared_own

    ready, preparation = prepared_own(task) if asked.own else (task, None)
    repeated = run(ready, asked, splits, shown=not as_json)
    facts = describe(task, repeated, asked.seed, by_id=asked.own)
    if output is not None or page is not None:
        best = replace(best_model(task, repeated, facts), preparation=preparation)
        facts |= write_outputs(best, task, output, page)
    report(facts, as_json)


def draw_splits(task: NodeTask, count: int | None, seed: int, *, own: bool) -> list[Split]:
    """The paper's splits for its data sets; 60/20/20 of the known nodes for one's own.

    A split of very many nodes measures well enough alone, and ten would take ten times as long.
    """
    import torch

    from elasticgnn.data import paper_split, share_split

    if count is None:
        count = 1 if own and task.num_nodes > MANY_NODES else SPLITS
    if count < 1:
        raise ValueError(f"splits must be >= 1, got {count}")
    generator = torch.Generator().manual_seed(seed)
    if not own:
        return [paper_split(task, generator) for _ in range(count)]
    return [share_split(task.labels, generator, train=0.6, val=0.2) for _ in range(count)]


def run(task: NodeTask, asked: GivenRequest, splits: list[Split], *, shown: bool) -> Repeated:
    """Trains on every split with a progress bar."""
    from elasticgnn.cli.progress import progress_bar
    from elasticgnn.training.repeat import fit_repeatedly

    settings, plan = asked.settings, asked.plan
    total = len(splits) * plan.epochs
    with progress_bar(f"{settings.name} on {task.name}", total, shown=shown) as tick:
        return fit_repeatedly(task, splits, settings, plan, seed=asked.seed, progress=tick)


def best_model(task: NodeTask, repeated: Repeated, facts: dict[str, Any]) -> TrainedModel:
    """The model that did best in validation, with its seed, split and curves."""
    from elasticgnn.training import trained_on

    best = facts["runs"][repeated.best]
    known = {
        "seed": best["seed"],
        "split": best["split"],
        "split_by_id": facts["split_by_id"],
        "test_accuracy": facts["test"]["mean"],
        "test": facts["test"],
        "majority": facts["majority"],
        "curves": [history.curves() for history in repeated.histories],
    }
    model = repeated.model(task, repeated.best)
    return trained_on(task, model, repeated.settings, known)
