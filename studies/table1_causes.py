"""What divided rows of features make of the cells of Table 1: from the records of table1-divided.

    python studies/table1_causes.py results/table1_causes.json

table1 leaves the features of CS, Physics, Computers and Photo as they are stored, table1-divided
divides their rows by their sum and searches the same cells by the same rule, on the same splits
with the same seeds. `elasticgnn study publish` writes these rows beside the cells of table1 that
differ from the paper. Rows of cells that table1-divided does not have stay as they are.
"""

import argparse
import json
from pathlib import Path
from statistics import fmean, stdev

from elasticgnn.experiment import Cell, CellResult, cells, load_spec, read_result
from elasticgnn.files import write_whole

SPEC = load_spec("table1-divided")
RESULTS = Path(__file__).resolve().parent.parent / "results"
DIVIDED = "rows of the features divided by their sum, searched by the same rule"


def row_of(cell: Cell, result: CellResult) -> dict[str, object]:
    """What the search selects on divided rows, and what that gives."""
    tests = [100 * run.test for run in result.runs]
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
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    old = json.loads(given.output.read_text())["rows"] if given.output.exists() else []
    rows = {(row["dataset"], row["level"], row["model"]): row for row in old}
    for cell in cells(SPEC):
        result = read_result(RESULTS, SPEC, cell)
        if result is not None:
            rows[cell.dataset, cell.level, cell.model] = row_of(cell, result)
    write_whole(given.output, json.dumps({"rows": list(rows.values())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
