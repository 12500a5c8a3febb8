"""The trials of one group of cells: planned, claimed, finished, and read back.

A trial is one setting with some of its runs. Workers never talk to each other: each plans what
is missing, claims what waits, and stores what it trained. Whatever is planned twice (two workers
at the same moment) is dropped when claimed, whatever a dead worker held is planned again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from elasticgnn.experiment.liveness import Watch, worker_identity
from elasticgnn.experiment.record import RunRecord
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.storage import claim_lock
from elasticgnn.extras import optional_imports
from elasticgnn.problem.penalties.registry import NORMS

LARGEST = 1e9  # stands for an infinite lambda2 where Optuna shows parameters


@dataclass(frozen=True)
class Claim:
    """A setting and its runs first <= run < last, held by this process."""

    number: int
    setting: Setting
    first: int
    last: int

    @property
    def runs(self) -> range:
        """The numbers of the runs that are claimed."""
        return range(self.first, self.last)


class Ledger:
    """One Optuna study; every method is safe against other processes doing the same."""

    def __init__(self, storage: Any, url: str, name: str, watch: Watch) -> None:
        with optional_imports():
            import optuna

        self.url = url
        self.watch = watch
        self.states = optuna.trial.TrialState
        self.held: dict[int, Any] = {}
        self.distributions = distributions()
        self.study = optuna.create_study(
            study_name=name,
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            sampler=optuna.samplers.RandomSampler(seed=0),
        )

    def trials(self, *states: Any) -> list[Any]:
        """Optuna's trials that carry a setting, in the states asked for."""
        trials = self.study.get_trials(deepcopy=False, states=states or None)
        return [trial for trial in trials if "setting" in trial.user_attrs]

    def records(self) -> dict[Setting, dict[int, RunRecord]]:
        """Every finished run by setting and number."""
        found: dict[Setting, dict[int, RunRecord]] = {}
        for trial in self.trials():  # a killed worker's trial holds what it had finished
            runs = found.setdefault(read_setting(trial), {}) if "runs" in trial.user_attrs else {}
            for table in trial.user_attrs.get("runs", ()):
                record = RunRecord.from_json(table)
                runs.setdefault(record.run, record)
        return found

    def environments(self) -> list[dict[str, str]]:
        """Every distinct environment that a finished trial names."""
        found = (trial.user_attrs.get("environment") for trial in self.trials())
        texts = {json.dumps(environment) for environment in found if environment}
        return [json.loads(text) for text in sorted(texts)]

    def plan(self, wanted: Mapping[Setting, int]) -> None:
        """Queue the runs of `wanted` that no worker has done, does, or has queued."""
        with claim_lock(self.url):
            self.release_dead()
            covered: dict[Setting, set[int]] = {}
            alive = (self.states.WAITING, self.states.RUNNING, self.states.COMPLETE)
            for trial in self.trials(*alive):
                covered.setdefault(read_setting(trial), set()).update(read_runs(trial))
            for setting, records in self.records().items():
                covered.setdefault(setting, set()).update(records)
            for setting, runs in sorted(wanted.items()):
                missing = [run for run in range(runs) if run not in covered.get(setting, ())]
                for first, last in spans(missing):
                    self.enqueue(setting, first, last)

    def enqueue(self, setting: Setting, first: int, last: int) -> None:
        """Puts runs `first` to `last` of a setting up to be claimed."""
        attributes = {"setting": setting.to_json(), "first": first, "last": last}
        self.study.enqueue_trial(parameters(setting), user_attrs=attributes)

    def claim(self, max_runs: int) -> list[Claim]:
        """Waiting trials, now held by this process, until they make `max_runs` runs."""
        claims: list[Claim] = []
        with claim_lock(self.url):
            while sum(len(claim.runs) for claim in claims) < max_runs:
                if not self.trials(self.states.WAITING):
                    break
                trial = self.study.ask(self.distributions)
                if "setting" not in trial.user_attrs:  # the queue was emptied a moment ago
                    self.study.tell(trial.number, state=self.states.FAIL)
                    break
                trial.set_user_attr("worker", worker_identity(self.watch.token))
                claim = Claim(trial.number, read_setting(trial), *read_span(trial))
                if self.is_planned_twice(claim):
                    self.study.tell(trial.number, state=self.states.FAIL)
                else:
                    self.held[claim.number] = trial
                    claims.append(claim)
        return claims

    def is_planned_twice(self, claim: Claim) -> bool:
        """Whether other trials already cover these runs (of two in work, the first stays)."""
        done: set[int] = set()
        for trial in self.trials(self.states.COMPLETE, self.states.RUNNING):
            earlier = trial.state == self.states.COMPLETE or trial.number < claim.number
            if trial.number != claim.number and earlier and read_setting(trial) == claim.setting:
                done.update(read_runs(trial))
        return set(claim.runs) <= done

    def release_dead(self) -> None:
        """Fail the trials whose worker is gone; `plan` then queues their runs again."""
        for trial in self.trials(self.states.RUNNING):
            if self.watch.is_dead(trial.number, trial.user_attrs):
                self.study.tell(trial.number, state=self.states.FAIL, skip_if_finished=True)

    def beat(self, claims: Sequence[Claim], count: int) -> None:
        """A sign of life for watchers on other machines, for what is still held."""
        for claim in claims:
            if claim.number in self.held:
                self.set_attribute(claim, "beat", count)

    def keep(self, claim: Claim, records: Sequence[RunRecord], environment: dict[str, str]) -> None:
        """Store the runs of a claim that are finished so far; they count from now on."""
        if not {record.run for record in records} <= set(claim.runs):
            raise ValueError(f"records must be of the runs {claim.runs}, got others")
        self.set_attribute(claim, "environment", environment)
        self.set_attribute(claim, "runs", [record.to_json() for record in records])

    def tell(self, claim: Claim, records: Sequence[RunRecord], environment: dict[str, str]) -> None:
        """Store all runs of a claim and give it back."""
        if [record.run for record in records] != list(claim.runs):
            raise ValueError(f"records must be of the runs {claim.runs}, got {len(records)}")
        self.keep(claim, records, environment)
        mean = sum(record.val for record in records) / len(records)
        value = mean if mean == mean else 0.0  # no validation nodes, nothing to rank by
        self.study.tell(claim.number, value, skip_if_finished=True)
        self.held.pop(claim.number, None)

    def set_attribute(self, claim: Claim, name: str, value: Any) -> None:
        """Set an attribute of a claimed trial, unless it was taken away and finished."""
        with optional_imports():
            import optuna

        trial = self.held.get(claim.number)
        with suppress(optuna.exceptions.UpdateFinishedTrialError):
            if trial is not None:
                trial.set_user_attr(name, value)


def distributions() -> dict[str, Any]:
    """Wide ranges that never change: what is tried is decided by `plan`."""
    with optional_imports():
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    return {
        "steps": IntDistribution(0, 10_000),
        "norm": CategoricalDistribution(NORMS),
        "learning_rate": FloatDistribution(0.0, LARGEST),
        "weight_decay": FloatDistribution(0.0, LARGEST),
        "dropout": FloatDistribution(0.0, 1.0),
        "lambda1": FloatDistribution(0.0, LARGEST),
        "lambda2": FloatDistribution(0.0, LARGEST),
    }


def parameters(setting: Setting) -> dict[str, Any]:
    """The setting as Optuna's parameters; infinity becomes the largest value."""
    values, known = setting.to_json(), distributions()
    return {n: LARGEST if v == "inf" else v for n, v in values.items() if n in known}


def read_setting(trial: Any) -> Setting:
    """The setting of a trial."""
    return Setting.from_json(trial.user_attrs["setting"])


def read_span(trial: Any) -> tuple[int, int]:
    """First run of a trial and the one after its last."""
    return trial.user_attrs["first"], trial.user_attrs["last"]


def read_runs(trial: Any) -> range:
    """The numbers of the runs of a trial."""
    return range(*read_span(trial))


def spans(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Maximal first <= number < last of ascending `numbers`."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found
