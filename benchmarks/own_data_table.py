"""The tables of docs/own_data_measured.md, from their record: prints Markdown.

The draws of seed 0 one by one, then how many of all draws keep what is promised.

python benchmarks/own_data_table.py [benchmarks/results/own_data.json]
"""

import argparse
import json
from collections.abc import Iterable, Sequence
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


def promises(row: dict[str, Any]) -> dict[str, bool]:
    """Which of the aims a draw meets."""
    error = row["calibration error"]
    return {
        "result inside the printed interval": row["inside"],
        "best rival at most one point ahead": row["less than the best rival by"] <= 0.01,
        "calibration error at most 5 points": error is None or error <= 0.05,
        "sets within 2 points of 90 %": abs(row["coverage of 90 %"] - 0.9) <= 0.02,
    }


def counted(rows: list[dict[str, Any]]) -> list[list[str]]:
    """For each aim how many draws meet it, and which do not."""
    kept = [promises(row) for row in rows]
    lines = []
    for aim in kept[0]:
        others = [
            f"{r['data']} ({r['seed']})" for r, own in zip(rows, kept, strict=True) if not own[aim]
        ]
        lines.append([aim, f"{len(rows) - len(others)} of {len(rows)}", ", ".join(others)])
    return lines


def show(lines: Iterable[Sequence[str]], head: Sequence[str]) -> None:
    for line in (head, ["---"] * len(head), *lines):
        print("| " + " | ".join(line) + " |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path, nargs="?", default=RECORD)
    rows = json.loads(parser.parse_args().record.read_text())
    show([cells(row) for row in rows if row["seed"] == 0], HEAD)
    show(counted(rows), ("aim", "draws", "not in (seed)"))


if __name__ == "__main__":
    main()
