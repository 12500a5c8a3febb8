"""Training of what was claimed: elastic models side by side, rivals one after another."""

from __future__ import annotations

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
from elasticgnn.training import History, Run, TrainingPlan, fit, fit_population, make_model

SIDE_BY_SIDE = ("elastic", "appnp")  # APPNP is the elastic model without lambda1


@dataclass(frozen=True)
class Bench:
    """A group of cells with its data loaded: everything a training needs."""

    group: CellGroup
    task: NodeTask

    @property
    def family(self) -> str:
        return self.group.models[0].family

    @property
    def uses_last_epoch(self) -> bool:
        return self.group.models[0].epoch == "last"

    @cached_property
    def splits(self) -> tuple[Split, ...]:
        protocol = self.group.study.protocol
        return tuple(run_split(self.task, protocol, run) for run in range(protocol.runs))

    @cached_property
    def packed_splits(self) -> tuple[str, ...]:
        return tuple(pack_split(split, self.task.num_nodes) for split in self.splits)

    def training_split(self, run: int) -> Split:
        split = self.splits[run]
        return without_validation(split) if self.uses_last_epoch else split


def train_claims(
    bench: Bench, claims: Sequence[Claim], told: Callable[[Claim, list[RunRecord]], None]
) -> None:
    """Train every claimed run; `told` gets each claim's records as soon as they are complete."""
    if bench.family not in SIDE_BY_SIDE:
        for claim in claims:
            told(claim, [train_alone(bench, claim.setting, run) for run in claim.runs])
        return
    for batch in alike(claims):
        histories = iter(train_side_by_side(bench, batch))
        for claim in batch:
            told(claim, [to_record(bench, claim.setting, r, next(histories)) for r in claim.runs])


def alike(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Claims by steps and norm, the two things a population shares."""
    batches: dict[tuple[int, str], list[Claim]] = {}
    for claim in claims:
        batches.setdefault((claim.setting.steps, claim.setting.norm), []).append(claim)
    return list(batches.values())


def train_side_by_side(bench: Bench, claims: Sequence[Claim]) -> list[History]:
    protocol = bench.group.study.protocol
    return fit_population(
        bench.task,
        [to_run(bench, claim.setting, run) for claim in claims for run in claim.runs],
        steps=claims[0].setting.steps,
        norm=claims[0].setting.norm,
        hidden_channels=protocol.hidden_channels,
        epochs=protocol.epochs,
        patience=protocol.patience,
        keep_weights=bench.group.study.metric != "accuracy",
    )


def to_run(bench: Bench, setting: Setting, run: int) -> Run:
    return Run(
        split=bench.training_split(run),
        seed=bench.group.study.protocol.seed + run,
        learning_rate=setting.learning_rate,
        weight_decay=setting.weight_decay,
        dropout=setting.dropout,
        lambda1=setting.lambda1,
        lambda2=setting.lambda2,
    )


def train_alone(bench: Bench, setting: Setting, run: int) -> RunRecord:
    """One run of a rival through the plain training loop."""
    protocol = bench.group.study.protocol
    generator = torch.Generator().manual_seed(protocol.seed + run)
    model = make_model(model_settings(bench, setting), bench.task, generator)
    plan = TrainingPlan(
        setting.learning_rate, setting.weight_decay, protocol.epochs, protocol.patience
    )
    history = fit(model, bench.task, bench.training_split(run), plan, generator)
    return to_record(bench, setting, run, history)


def model_settings(bench: Bench, setting: Setting) -> ModelSettings:
    # Families and norms are checked when a study is read; the literal types say the same.
    name: Any = "elastic" if bench.family in SIDE_BY_SIDE else bench.family
    norm: Any = setting.norm
    return ModelSettings(
        name=name,
        hidden_channels=bench.group.study.protocol.hidden_channels,
        dropout=setting.dropout,
        steps=setting.steps,
        lambda1=setting.lambda1,
        lambda2=setting.lambda2,
        norm=norm,
    )


def to_record(bench: Bench, setting: Setting, run: int, history: History) -> RunRecord:
    """What is kept of a training, measurements included."""
    values, series = measurements(bench, setting, history)
    return RunRecord(
        run=run,
        seed=bench.group.study.protocol.seed + run,
        split=split_fingerprint(bench.packed_splits[run]),
        val=-1.0 if bench.uses_last_epoch else round(history.val_accuracy, 6),
        test=round(history.test_accuracy, 6),
        selected_epoch=history.selected_epoch,
        epochs=history.epochs,
        seconds=round(history.seconds, 3),
        values=values,
        series=series,
        curves={
            "loss": pack_curve(history.loss),
            "val": pack_curve(history.val_curve),
            "test": pack_curve(history.test_curve),
        },
    )


@torch.no_grad()
def measurements(
    bench: Bench, setting: Setting, history: History
) -> tuple[dict[str, float], dict[str, tuple[float, ...]]]:
    """Values and series of the trained network, for studies that show more than accuracy."""
    if bench.group.study.metric == "accuracy":
        return {}, {}
    model: Any = make_model(model_settings(bench, setting), bench.task, torch.Generator())
    assert history.weights is not None  # asked for in train_side_by_side
    model.load_state_dict(history.weights)
    model.eval()
    signal = model.logits(bench.task.features)
    smoothed = model(bench.task.features, bench.task.graph)
    steps = objective_series(signal, bench.task, model.penalty)
    return edge_values(smoothed, bench.task), {"objective": steps}
