"""A worker: takes what a study still needs, trains it, and writes each cell when complete."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from elasticgnn.data import NodeTask
from elasticgnn.experiment.cells import Cell, CellGroup, cell_groups
from elasticgnn.experiment.environment import environment
from elasticgnn.experiment.execute import GroupTask, train_claims, trains_side_by_side
from elasticgnn.experiment.flips import AttackRecord, FlipFile
from elasticgnn.experiment.ledger import Claim, Ledger
from elasticgnn.experiment.liveness import Watch, beating
from elasticgnn.experiment.progress import Progress
from elasticgnn.experiment.record import RunRecord
from elasticgnn.experiment.replacing import check_replaced
from elasticgnn.experiment.results import Candidate, CellResult, write_result, write_split
from elasticgnn.experiment.search import Needs, Records, expected_runs, has_runs, needs, select
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.spec import ModelSpec, StudySpec
from elasticgnn.experiment.storage import close_storage, open_storage, storage_errors
from elasticgnn.experiment.tasks import load_task
from elasticgnn.tracking.callback import Callback


@dataclass(frozen=True)
class WorkPlan:
    """How a study is worked on; none of it changes what comes out.

    >>> from pathlib import Path
    >>> from elasticgnn.experiment import WorkPlan
    >>> WorkPlan("sqlite:///study.db", Path("results")).width
    40
    """

    storage: str
    results: Path
    data_root: Path | None = None
    width: int = 40  # runs trained side by side
    alone: int = 5  # runs of a rival claimed at once
    grace: float = 600.0  # seconds of silence after which a foreign worker counts as dead
    poll: float = 2.0
    attack: Path | None = None  # flips applied to the data; the study names their digest

    def __post_init__(self) -> None:
        for name in ("width", "alone"):  # with none at once nothing would ever be claimed
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")


def run_study(
    spec: StudySpec,
    plan: WorkPlan,
    report: Callable[[str], None] = lambda line: None,
    *,
    callback: Callback | None = None,
) -> None:
    """Train until every cell of `spec` is complete and written; may run in many processes.

    `report` gets a line of progress, `callback` the numbers of every training (tracking).

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.experiment import WorkPlan, cells, cut_down, load_spec
    >>> from elasticgnn.experiment import read_result, run_study
    >>> spec = cut_down(load_spec("table1"), epochs=1, runs=1, settings=1)
    >>> spec = spec.restricted(models=("sgc",))
    >>> with TemporaryDirectory() as place:
    ...     folder = Path(place)
    ...     run_study(spec, WorkPlan(f"sqlite:///{folder}/study.db", folder))
    ...     read_result(folder, spec, cells(spec)[0]) is not None
    True
    """
    check_replaced(spec, plan.results)
    with storage_errors(plan.storage):
        storage = open_storage(plan.storage)
        try:
            Worker(spec, plan, report, storage, callback).work()
        finally:
            close_storage(storage)


class Worker:
    """One process working on one study."""

    def __init__(
        self,
        spec: StudySpec,
        plan: WorkPlan,
        report: Callable[[str], None],
        storage: Any,
        callback: Callback | None = None,
    ) -> None:
        self.spec = spec
        self.plan = plan
        self.report, self.callback = report, callback
        watch = [Watch(plan.grace) for _ in cell_groups(spec)]
        self.groups = [
            (group, Ledger(storage, plan.storage, group.trials_name, own))
            for group, own in zip(cell_groups(spec), watch, strict=True)
        ]
        self.written: set[str] = set()
        self.flips = matching_flips(spec, plan.attack)
        self.loaded: tuple[tuple[str, float], NodeTask, AttackRecord | None] | None = None
        self.environment = environment()
        total = sum(expected_trainings(group) for group, _ in self.groups)
        self.counts = {g.trials_name: count_runs(led.records()) for g, led in self.groups}
        done = min(sum(self.counts.values()), total)
        self.progress = Progress(total, done_before=done, done=done)

    def work(self) -> None:
        """Pass over the groups until all are finished, resting when others hold the rest."""
        while True:
            worked = [self.visit(group, ledger) for group, ledger in self.groups]
            if len(self.written) == len(self.groups):
                return
            if not any(worked):
                time.sleep(self.plan.poll)

    def visit(self, group: CellGroup, ledger: Ledger) -> bool:
        """Work on one group as long as it has something to claim; whether it had."""
        worked = False
        while group.trials_name not in self.written:
            records = ledger.records()
            self.counts[group.trials_name] = count_runs(records)
            wanted = group_needs(group, records)
            if wanted.final and wanted.met(records):
                self.write_cells(group, ledger, records)
                return worked
            ledger.plan(wanted.runs)
            side_by_side = trains_side_by_side(group)
            claims = ledger.claim(self.plan.width if side_by_side else self.plan.alone)
            if not claims:
                return worked
            self.train(group, ledger, claims)
            worked = True
        return worked

    def train(self, group: CellGroup, ledger: Ledger, claims: list[Claim]) -> None:
        """Trains the claims and stores each in the ledger when it is finished."""
        group_task = GroupTask(group, self.task(group))

        def finished(claim: Claim, records: list[RunRecord]) -> None:
            for record in records:
                packed = group_task.packed_splits[record.run]
                write_split(self.plan.results, group_task.task.name, record.split, packed)
            store = ledger.tell if len(records) == len(claim.runs) else ledger.keep
            store(claim, records, self.environment)
            self.counts[group.trials_name] += 1
            self.progress.done = min(sum(self.counts.values()), self.progress.total)
            what = f"{group.dataset} {group.level:g} {group.group}, {claim.setting.label()}"
            self.report(self.progress.line(what))
            self.notify(what, records)

        with beating(lambda count: ledger.beat(claims, count)):
            train_claims(group_task, claims, finished)

    def notify(self, what: str, records: list[RunRecord]) -> None:
        """Hands the numbers of finished trainings to the callback, if there is one."""
        if self.callback is not None:
            for record in records:
                values = {"val": record.val, "test": record.test, "seconds": record.seconds}
                self.callback(what, record.run, values)

    def task(self, group: CellGroup) -> NodeTask:
        """The data that the group trains on."""
        return self.data(group)[0]

    def data(self, group: CellGroup) -> tuple[NodeTask, AttackRecord | None]:
        """The group's data, and how they were attacked; the last ones used stay in memory."""
        key = group.dataset, group.level if self.spec.axis == "rate" else 0.0
        if self.loaded is None or self.loaded[0] != key:
            root = self.plan.data_root
            if self.flips is None:
                self.loaded = (key, load_task(self.spec.protocol, *key, root), None)
            else:
                self.loaded = (key, *self.flips.attacked(group, root))
        return self.loaded[1:]

    def write_cells(self, group: CellGroup, ledger: Ledger, records: Records) -> None:
        """Writes the result file of every cell of the group."""
        attack = None if self.flips is None else self.data(group)[1]
        for model, cell in zip(group.models, group.cells, strict=True):
            result = cell_result(group, model, cell, records, ledger.environments())
            write_result(self.plan.results, self.spec, replace(result, attack=attack))
        self.written.add(group.trials_name)


def matching_flips(spec: StudySpec, path: Path | None) -> FlipFile | None:
    """The file that the study says it is attacked by; both have to name it, or neither."""
    flips = None if path is None else FlipFile(path)
    wanted, found = spec.protocol.attack, None if flips is None else flips.digest
    if wanted != found:
        raise ValueError(f"attack must be the study's file (digest {wanted}), got {found}")
    return flips


def group_needs(group: CellGroup, records: Records) -> Needs:
    """What the models of a group want together."""
    runs: dict[Setting, int] = {}
    final = True
    for model in group.models:
        own = needs(
            group_settings(group, model),
            fixed_setting(group, model),
            group.search,
            group.study.protocol.runs,
            records,
        )
        final = final and own.final
        for setting, count in own.runs.items():
            runs[setting] = max(count, runs.get(setting, 0))
    return Needs(runs, final)


def group_settings(group: CellGroup, model: ModelSpec) -> list[Setting]:
    """The model's settings, with the level of the axis put in."""
    if group.study.axis != "steps":
        return list(model.settings)
    return [replace(setting, steps=int(group.level)) for setting in model.settings]


def fixed_setting(group: CellGroup, model: ModelSpec) -> Setting:
    """The one setting of `--search fixed`: what an earlier search found, or the default."""
    fixed = group.study.found.get((group.dataset, model.name, group.level), model.fixed)
    return replace(fixed, steps=int(group.level)) if group.study.axis == "steps" else fixed


def expected_trainings(group: CellGroup) -> int:
    """Trainings of a whole group; models that share settings share trainings."""
    distinct = {s for model in group.models for s in group_settings(group, model)}
    runs, plan = group.study.protocol.runs, group.search
    if plan.method == "grid":
        return len(distinct) * runs
    return sum(expected_runs(len(m.settings), plan, runs) for m in group.models)


def count_runs(records: Records) -> int:
    """How many trainings the records hold."""
    return sum(len(runs) for runs in records.values())


def cell_result(
    group: CellGroup,
    model: ModelSpec,
    cell: Cell,
    records: Records,
    environments: list[dict[str, str]],
) -> CellResult:
    """The cell as it is stored: the selected setting's runs, and all candidates in brief."""
    count = group.study.protocol.runs
    plan = group.search
    fixed = plan.method == "fixed"
    settings = [fixed_setting(group, model)] if fixed else group_settings(group, model)
    selected = select(settings, count, records)
    assert selected is not None  # the group's needs are met
    tried = [setting for setting in settings if has_runs(records, setting, 1)]
    return CellResult(
        pool=group.study.pool,
        cell=cell,
        protocol=group.study.protocol,
        search=plan.method,
        rule=plan if plan.method == "halving" else None,
        selected=selected,
        runs=tuple(records[selected][run] for run in range(count)),
        candidates=tuple(candidate(setting, records) for setting in tried),
        environments=tuple(environments),
    )


def candidate(setting: Setting, records: Records) -> Candidate:
    """A setting with its mean validation and test value and the processor time of its runs."""
    runs = list(records[setting].values())
    val, test = fmean(run.val for run in runs), fmean(run.test for run in runs)
    times = [run.processor_seconds for run in runs if run.processor_seconds is not None]
    seconds = round(sum(times), 3) if len(times) == len(runs) else None
    return Candidate(setting, len(runs), round(val, 6), round(test, 6), seconds)
