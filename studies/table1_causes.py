"""Why cells of Table 1 differ from the published ones: the same search on other features.

    python studies/table1_causes.py results/table1_causes.json trials.db [--only cs] [--models sgc]
        [--agreeing]

Every cell of table 1 that is above or below the paper is searched again by the table's own rule,
on the same splits with the same seeds, with the rows of the features divided by their sum (the
table leaves them as the four data sets have them; the paper does not say). --agreeing: those within
too, so that cells that divided rows would move away from the paper are seen as well. Every finished
training is kept in `trials.db`, finished rows in the record; `elasticgnn study publish` writes them
beside the cells that differ.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory

import torch

from elasticgnn.data import NodeTask
from elasticgnn.experiment import Cell, WorkPlan, load_spec, read_result
from elasticgnn.experiment.cells import CellGroup
from elasticgnn.experiment.engine import Worker
from elasticgnn.experiment.flips import AttackRecord
from elasticgnn.experiment.storage import close_storage, open_storage
from elasticgnn.files import write_whole
from elasticgnn.report import build_table

SPEC = load_spec("table1")
RESULTS = Path(__file__).resolve().parent.parent / "results"
UNDIVIDED = ("cs", "physics", "computers", "photo")
DIVIDED = "rows of the features divided by their sum, searched by the same rule"


class DividedWorker(Worker):
    """A worker whose data have rows of features that sum to 1."""

    def data(self, group: CellGroup) -> tuple[NodeTask, AttackRecord | None]:
        task, attack = super().data(group)
        return replace(task, features=task.features.row_normalized()), attack


def searched(cell: Cell, storage: str) -> dict[str, object]:
    """The row of one cell: what the search selects on divided rows, and what that gives."""
    spec = SPEC.restricted((cell.dataset,), (cell.model,))
    opened = open_storage(storage)
    try:
        with TemporaryDirectory() as folder:
            plan = WorkPlan(storage, Path(folder))
            DividedWorker(spec, plan, lambda line: print(line, flush=True), opened).work()
            result = read_result(Path(folder), spec, cell)
    finally:
        close_storage(opened)
    assert result is not None  # the worker ends when the cell is written
    tests = [100 * run.test for run in result.runs]
    spent = [run.processor_seconds for run in result.runs]
    return {
        "dataset": cell.dataset,
        "level": cell.level,
        "model": cell.model,
        "changed": DIVIDED,
        "runs": len(tests),
        "mean": round(fmean(tests), 2),
        "std": round(stdev(tests), 2),
        "val": round(100 * fmean(run.val for run in result.runs), 2),
        "selected": result.selected.label(),
        "processor seconds of a run": round(fmean(spent), 1),
    }


def wanted(verdicts: tuple[str, ...], only: list[str], models: list[str]) -> list[Cell]:
    """Cells on undivided rows with one of these verdicts, data sets and models (none: all)."""
    return [
        entry.cell
        for entry in build_table(SPEC, RESULTS).entries
        if entry.verdict in verdicts
        and entry.cell.dataset in UNDIVIDED
        and (not only or entry.cell.dataset in only)
        and (not models or entry.cell.model in models)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("storage", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--agreeing", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = json.loads(given.output.read_text())["rows"] if given.output.exists() else []
    done = {(row["dataset"], row["level"], row["model"]) for row in rows}
    verdicts = ("above", "below", *(["within"] if given.agreeing else []))
    for cell in wanted(verdicts, given.only, given.models):
        if (cell.dataset, cell.level, cell.model) not in done:
            rows.append(searched(cell, f"sqlite:///{given.storage}"))
            print(rows[-1], flush=True)
            write_whole(given.output, json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
