"""Results that a study may not replace: what took longer is not lost to what is quick."""

from __future__ import annotations

from pathlib import Path

from elasticgnn.experiment.cells import Cell, cells
from elasticgnn.experiment.results import CellResult, read_result, result_path
from elasticgnn.experiment.spec import StudySpec

EFFORT = ("fixed", "halving", "grid")  # least first


def check_replaced(spec: StudySpec, folder: Path) -> None:
    """Refuses a study that would replace a stored cell by a lesser search or by fewer runs."""
    for cell in cells(spec):
        stored = read_result(folder, spec, cell)
        if stored is not None:
            check_cell(spec, stored, cell, result_path(folder, spec, cell))


def check_cell(spec: StudySpec, stored: CellResult, cell: Cell, path: Path) -> None:
    """Refuses one cell, with the way that keeps both results."""
    method, runs = spec.search_on(cell.dataset).method, spec.protocol.runs
    if EFFORT.index(method) < EFFORT.index(stored.search):
        rule, given = f"search must be {stored.search} or more", repr(method)
    elif runs < len(stored.runs):
        rule, given = f"runs must be >= {len(stored.runs)}", str(runs)
    else:
        return
    raise ValueError(
        f"{rule}, got {given}, since {path} would be replaced: give another folder (--results), "
        f"and this one by --found for the settings that were found here"
    )
