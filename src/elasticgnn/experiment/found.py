"""Settings that earlier searches selected, read back from their results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from elasticgnn.experiment.cells import cells
from elasticgnn.experiment.results import read_result
from elasticgnn.experiment.spec import StudySpec


def with_found(spec: StudySpec, folder: Path) -> StudySpec:
    """The study with the selected setting of every result in `folder`, for `--search fixed`."""
    found = dict(spec.found)
    for cell in cells(spec):
        result = read_result(folder, spec, cell)
        if result is not None:
            found[cell.dataset, cell.model, cell.level] = result.selected
    return replace(spec, found=found)
