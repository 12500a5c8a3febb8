"""The table of docs/own_data_measured.md, from its record: prints Markdown.

python benchmarks/own_data_table.py [benchmarks/results/own_data.json]
"""

import argparse
import json
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "results" / "own_data.json"
HEAD = ("data", "metric", "winner", "tuned", "printed interval", "best rival")
HEAD += ("calibration error", "sets for 90 %")


def cells(row: dict[str, Any]) -> list[str]:
    """What the record says of one kind; R^2 as it is, all else in per cent."""

    def score(value: float) -> str:
        return f"{value:.3f}" if row["metric"] == "r2" else f"{100 * value:.1f}"

    _, low, high = row["estimate"]
    rival, error = row["best rival"], row["calibration error"]
    return [
        row["data"],
        row["metric"],
        row["winner"],
        score(row["tuned"]),
        f"{score(low)} to {score(high)}",
        f"{rival} {score(row['rivals'][rival])}",
        "" if error is None else f"{100 * error:.1f}",
        f"{100 * row['coverage of 90 %']:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path, nargs="?", default=RECORD)
    rows = json.loads(parser.parse_args().record.read_text())
    for line in (HEAD, ["---"] * len(HEAD), *map(cells, rows)):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
