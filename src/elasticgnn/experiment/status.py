"""What is stored of a study, without touching it."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from elasticgnn.experiment.cells import CellGroup, cell_groups, cells
from elasticgnn.experiment.engine import expected_trainings
from elasticgnn.experiment.replacing import EFFORT
from elasticgnn.experiment.results import CellResult, read_result
from elasticgnn.experiment.spec import StudySpec
from elasticgnn.experiment.storage import close_storage, open_storage, sqlite_path, storage_errors
from elasticgnn.extras import optional_imports

STATES = ("complete", "running", "waiting")


def study_status(spec: StudySpec, url: str, results: Path) -> dict[str, Any]:
    """Cells, trials and trainings so far, what they took, and what the rest will take.

    processor_hours are of the trainings that measured them; hours_left is for the groups that
    have some training to go by, unmeasured counts the trainings of the others.
    """
    found: dict[str, Any] = {
        "study": spec.name,
        **cell_counts(spec, results),
        **dict.fromkeys(("runs", "epochs", "left", "unmeasured"), 0),
        **dict.fromkeys(("seconds", "processor_hours", "hours_left"), 0.0),
        **dict.fromkeys(STATES, 0),
        "groups": [],
        "rules": rules(spec),
    }
    path = sqlite_path(url)
    stored = {} if path is not None and not path.is_file() else stored_trials(spec, url)
    for group in cell_groups(spec):
        trials = stored.get(group.trials_name, [])
        for trial in trials:
            if trial.state.name.lower() in STATES:
                found[trial.state.name.lower()] += 1
        add_trainings(found, finished_runs(trials), group)
    return {**found, **averages(found)}


def averages(found: dict[str, Any]) -> dict[str, float | None]:
    """Epochs of a training and seconds of an epoch, None where nothing was trained."""
    runs, epochs = found["runs"], found["epochs"]
    return {
        "epochs_per_run": epochs / runs if runs else None,
        "seconds_per_epoch": found["seconds"] / epochs if epochs else None,
    }


def rules(spec: StudySpec) -> dict[str, list[str]]:
    """The rules of search in words, each with the data sets that it is for."""
    found: dict[str, list[str]] = {}
    for dataset in spec.datasets:
        found.setdefault(spec.search_on(dataset).label, []).append(dataset)
    return found


def cell_counts(spec: StudySpec, results: Path) -> dict[str, int]:
    """How many cells there are, have a result, a searched one, and one by this search or more."""
    every = cells(spec)
    found = [result for cell in every if (result := read_result(results, spec, cell)) is not None]
    return {
        "cells": len(every),
        "cells_complete": len(found),
        "cells_searched": sum(result.search != "fixed" for result in found),
        "cells_by_search": sum(is_by_search(spec, result) for result in found),
    }


def is_by_search(spec: StudySpec, result: CellResult) -> bool:
    """Whether a result took the effort that the study asks for now, or more."""
    asked = spec.search_on(result.cell.dataset).method
    enough = EFFORT.index(result.search) >= EFFORT.index(asked)
    return enough and len(result.runs) >= spec.protocol.runs


def finished_runs(trials: list[Any]) -> list[dict[str, Any]]:
    """Every run once, killed workers' included."""
    runs: dict[tuple[str, int], dict[str, Any]] = {}
    for trial in trials:
        for run in trial.user_attrs.get("runs", ()):
            runs.setdefault((json.dumps(trial.user_attrs["setting"]), run["run"]), run)
    return list(runs.values())


def add_trainings(found: dict[str, Any], runs: list[dict[str, Any]], group: CellGroup) -> None:
    """Count one group's trainings, their time, and the rest at the same pace."""
    left = max(expected_trainings(group) - len(runs), 0)
    seconds = [run.get("processor_seconds") or run["seconds"] for run in runs]
    processor = sum(run.get("processor_seconds") or 0.0 for run in runs)
    found["runs"] += len(runs)
    found["epochs"] += sum(run["epochs"] for run in runs)
    found["seconds"] += sum(run["seconds"] for run in runs)
    found["processor_hours"] += processor / 3600
    found["left"] += left
    if runs:
        found["hours_left"] += left * fmean(seconds) / 3600
        name = f"{group.dataset} {group.level:g} {group.group}"
        found["groups"].append(
            {"group": name, "runs": len(runs), "left": left, "processor_seconds": round(processor)}
        )
    else:
        found["unmeasured"] += left


def stored_trials(spec: StudySpec, url: str) -> dict[str, list[Any]]:
    """All trials of the study that carry a setting, by group."""
    with optional_imports():
        import optuna

    with storage_errors(url):
        storage = open_storage(url)
        try:
            known = set(optuna.study.get_all_study_names(storage))
            names = [group.trials_name for group in cell_groups(spec) if group.trials_name in known]
            studies = {name: optuna.load_study(study_name=name, storage=storage) for name in names}
            trials = {name: study.get_trials(deepcopy=False) for name, study in studies.items()}
        finally:
            close_storage(storage)
    return {
        name: [trial for trial in found if "setting" in trial.user_attrs]
        for name, found in trials.items()
    }
