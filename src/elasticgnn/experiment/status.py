"""What is stored of a study, without touching it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elasticgnn.experiment.cells import cell_groups, cells
from elasticgnn.experiment.results import result_path
from elasticgnn.experiment.spec import StudySpec
from elasticgnn.experiment.storage import close_storage, open_storage, sqlite_path

STATES = ("complete", "running", "waiting")


def study_status(spec: StudySpec, url: str, results: Path) -> dict[str, Any]:
    """Counts of complete cells, of the trials in the storage by state, and what they took."""
    every = cells(spec)
    found: dict[str, Any] = {
        "study": spec.name,
        "cells": len(every),
        "cells_complete": sum(result_path(results, spec, cell).is_file() for cell in every),
        "runs": 0,
        "epochs": 0,
        "seconds": 0.0,
        **dict.fromkeys(STATES, 0),
    }
    path = sqlite_path(url)
    if path is not None and not path.is_file():
        return found
    for trial in stored_trials(spec, url):
        state = trial.state.name.lower()
        if state in STATES:
            found[state] += 1
        if state == "complete":
            runs = trial.user_attrs["runs"]
            found["runs"] += len(runs)
            found["epochs"] += sum(run["epochs"] for run in runs)
            found["seconds"] += sum(run["seconds"] for run in runs)
    return found


def stored_trials(spec: StudySpec, url: str) -> list[Any]:
    """All trials of the study that carry a setting."""
    import optuna

    storage = open_storage(url)
    try:
        known = set(optuna.study.get_all_study_names(storage))
        names = [group.trials_name for group in cell_groups(spec) if group.trials_name in known]
        studies = [optuna.load_study(study_name=name, storage=storage) for name in names]
        trials = [trial for study in studies for trial in study.get_trials(deepcopy=False)]
    finally:
        close_storage(storage)
    return [trial for trial in trials if "setting" in trial.user_attrs]
