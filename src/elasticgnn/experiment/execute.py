"""Training of what was claimed: ElasticGNN and APPNP side by side, most rivals one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.experiment.cells import CellGroup
from elasticgnn.experiment.ledger import Claim
from elasticgnn.experiment.measure import edge_values, objective_series
from elasticgnn.experiment.record import RunRecord, pack_curve
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.tasks import (
    pack_split,
    run_split,
    split_fingerprint,
    without_validation,
)
from elasticgnn.nn import ModelSettings
from elasticgnn.training import History, Run, TrainingPlan, fit_population, make_model
from elasticgnn.training.fit import fit_lean
from elasticgnn.training.loop.field import FieldInputs

ELASTIC = ("elastic", "appnp")  # APPNP is the elastic model without lambda1


@dataclass(frozen=True)
class GroupTask:
    """A group of cells with its data loaded: everything a training needs."""

    group: CellGroup
    task: NodeTask

    @property
    def family(self) -> str:
        """The family of models that is trained."""
        return self.group.models[0].family

    @property
    def uses_last_epoch(self) -> bool:
        """Whether the last epoch counts, not the best in validation."""
        return self.group.models[0].epoch == "last"

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        """The split of every run."""
        protocol = self.group.study.protocol
        return tuple(run_split(self.task, protocol, run) for run in range(protocol.runs))

    @cached_property
    def fields(self) -> FieldInputs:
        """What the rivals' training and validation nodes see of the task."""
        return FieldInputs(self.task)

    @cached_property
    def packed_splits(self) -> tuple[str, ...]:
        """The splits as text, for the records."""
        return tuple(pack_split(split, self.task.num_nodes) for split in self.splits)

    def training_split(self, run: int) -> Split:
        """The split of a run as the training sees it."""
        split = self.splits[run]
        return without_validation(split) if self.uses_last_epoch else split


def trains_side_by_side(group: CellGroup) -> bool:
    """Whether runs are trained as one batch: ElasticGNN's kin, and GCN on attacked graphs.

    Their training nodes, a tenth of all, see the whole graph; the few of other data do not, and
    GCN is faster on what they see.
    """
    family = group.models[0].family
    return family in ELASTIC or (family == "gcn" and group.study.protocol.data == "attacked")


def train_claims(
    group_task: GroupTask,
    claims: Sequence[Claim],
    store: Callable[[Claim, list[RunRecord]], None],
) -> None:
    """Train every claimed run; `store` gets a claim's records so far after each of its runs."""
    if trains_side_by_side(group_task.group):
        for batch in alike(claims):
            train_side_by_side(group_task, batch, store)
        return
    for claim in claims:
        records: list[RunRecord] = []
        for run in claim.runs:
            records.append(train_alone(group_task, claim.setting, run))
            store(claim, records)


def alike(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Claims by steps and norm, the two things a population shares."""
    batches: dict[tuple[int, str], list[Claim]] = {}
    for claim in claims:
        batches.setdefault((claim.setting.steps, claim.setting.norm), []).append(claim)
    return list(batches.values())


def train_side_by_side(
    group_task: GroupTask,
    claims: Sequence[Claim],
    store: Callable[[Claim, list[RunRecord]], None],
) -> None:
    """A batch of all claimed runs; each is handed over when it stops, not when the last does."""
    places = [(claim, run) for claim in claims for run in claim.runs]
    records: dict[int, list[RunRecord]] = {claim.number: [] for claim in claims}
    clock = ProcessorClock()

    def finished(number: int, history: History) -> None:
        claim, run = places[number]
        record = to_record(group_task, claim.setting, run, history, clock.share(history))
        done = records[claim.number] = sorted([*records[claim.number], record], key=by_run)
        store(claim, done)

    fit_population(
        group_task.task,
        [to_run(group_task, claim.setting, run) for claim, run in places],
        model_settings(group_task, claims[0].setting),
        training_plan(group_task, claims[0].setting),
        return_weights=group_task.group.study.metric != "accuracy",
        finished=finished,
    )


def by_run(record: RunRecord) -> int:
    """The number to sort by."""
    return record.run


class ProcessorClock:
    """How much of this process's time a run of a population took: its share of the seconds."""

    def __init__(self) -> None:
        self.processor, self.wall = time.process_time(), time.perf_counter()

    def share(self, history: History) -> float:
        """Processor time of a run: its own seconds times the processors in use meanwhile."""
        wall = max(time.perf_counter() - self.wall, 1e-9)
        return history.seconds * (time.process_time() - self.processor) / wall


def training_plan(group_task: GroupTask, setting: Setting) -> TrainingPlan:
    """The protocol's plan: of equally good epochs the first is selected."""
    protocol = group_task.group.study.protocol
    rates = setting.learning_rate, setting.weight_decay
    return TrainingPlan(*rates, protocol.epochs, protocol.patience, ties="first")


def to_run(group_task: GroupTask, setting: Setting, run: int) -> Run:
    """One training of a setting, for a batch of runs."""
    return Run(
        split=group_task.training_split(run),
        seed=group_task.group.study.protocol.seed + run,
        learning_rate=setting.learning_rate,
        weight_decay=setting.weight_decay,
        dropout=setting.dropout,
        lambda1=setting.lambda1,
        lambda2=setting.lambda2,
    )


def train_alone(group_task: GroupTask, setting: Setting, run: int) -> RunRecord:
    """One run of a rival through the plain training loop."""
    protocol = group_task.group.study.protocol
    began = time.process_time()
    generator = torch.Generator().manual_seed(protocol.seed + run)
    model = make_model(model_settings(group_task, setting), group_task.task, generator)
    plan = training_plan(group_task, setting)
    split = group_task.training_split(run)
    history = fit_lean(model, group_task.fields, split, plan, generator)
    return to_record(group_task, setting, run, history, time.process_time() - began)


def model_settings(group_task: GroupTask, setting: Setting) -> ModelSettings:
    """The network of a setting."""
    # Families and norms are checked when a study is read; the literal types say the same.
    name: Any = "elastic" if group_task.family in ELASTIC else group_task.family
    norm: Any = setting.norm
    return ModelSettings(
        name=name,
        hidden_channels=group_task.group.study.protocol.hidden_channels,
        dropout=setting.dropout,
        steps=setting.steps,
        lambda1=setting.lambda1,
        lambda2=setting.lambda2,
        norm=norm,
        attention_dropout=setting.attention_dropout,
    )


def to_record(
    group_task: GroupTask, setting: Setting, run: int, history: History, processor_seconds: float
) -> RunRecord:
    """What is kept of a training, measurements included."""
    values, series = measurements(group_task, setting, history)
    return RunRecord(
        run=run,
        seed=group_task.group.study.protocol.seed + run,
        split=split_fingerprint(group_task.packed_splits[run]),
        val=-1.0 if group_task.uses_last_epoch else round(history.val_accuracy, 6),
        test=round(history.test_accuracy, 6),
        selected_epoch=history.selected_epoch,
        epochs=history.epochs,
        seconds=round(history.seconds, 3),
        processor_seconds=round(processor_seconds, 3),
        values=values,
        series=series,
        curves=packed_curves(history),
    )


def packed_curves(history: History) -> dict[str, str]:
    """The curves for looking at; that of the test nodes where they were looked at every epoch."""
    curves = {"loss": history.loss, "val": history.val_curve}
    if all(map(math.isfinite, history.test_curve)):
        curves["test"] = history.test_curve
    return {name: pack_curve(curve) for name, curve in curves.items()}


@torch.no_grad()
def measurements(
    group_task: GroupTask, setting: Setting, history: History
) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
    """Values and series of the trained network, for studies that show more than accuracy."""
    if group_task.group.study.metric == "accuracy":
        return {}, {}
    model: Any = make_model(model_settings(group_task, setting), group_task.task, torch.Generator())
    assert history.weights is not None  # asked for in train_side_by_side
    model.load_state_dict(history.weights)
    model.eval()
    signal = model.logits(group_task.task.features)
    smoothed = model(group_task.task.features, group_task.task.graph)
    steps = objective_series(signal, group_task.task, model.penalty)
    return edge_values(smoothed, group_task.task), {"objective": steps}
