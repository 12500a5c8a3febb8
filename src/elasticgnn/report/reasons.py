"""Why a cell differs from the published one, as far as the records show.

Three kinds: what the study's file remarks; trainings with something changed, from the record
`<study>_causes.json` beside the results; and settings of the same search that agree with the paper.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticgnn.experiment.results import Candidate
from elasticgnn.report.statistics import verdict
from elasticgnn.report.table import Entry, Table

UNKNOWN = "No explanation found yet."


def reason_text(table: Table, entry: Entry, folder: Path) -> str:
    """Everything known about why the cell differs, in sentences."""
    found = [*table.remarks(entry), *changes_tried(table, entry, folder)]
    return " ".join([*found, *other_setting(table, entry)]) or UNKNOWN


def changes_tried(table: Table, entry: Entry, folder: Path) -> list[str]:
    """One sentence with every training of the cell that changed something, and its verdict."""
    path = folder / f"{table.spec.name}_causes.json"
    rows = json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []
    own = [row for row in rows if is_about(row, entry)]
    texts = [change_text(table, entry, row) for row in own]
    return [f"By experiment: {'; '.join(texts)}."] if texts else []


def is_about(row: dict[str, Any], entry: Entry) -> bool:
    """Whether a row of the record is about this cell."""
    cell = entry.cell
    return (row["dataset"], row["level"], row["model"]) == (cell.dataset, cell.level, cell.model)


def change_text(table: Table, entry: Entry, row: dict[str, Any]) -> str:
    """What was changed, what came out, and whether that agrees with the paper."""
    assert entry.published is not None  # the cell differs from it
    word = verdict(row["mean"], entry.published, table.spec.tolerance)
    runs = "" if row["runs"] == table.spec.protocol.runs else f" ({row['runs']} runs)"
    return f"{row['changed']}, {row['mean']:.1f} ± {row['std']:.1f}{runs}, {word}"


def agreeing_candidate(table: Table, entry: Entry) -> Candidate | None:
    """The best setting in validation that agrees with the paper, if the search tried one."""
    if entry.result is None or table.spec.metric != "accuracy":
        return None
    agreeing = [c for c in entry.result.candidates if agrees(table, entry, c)]
    return max(agreeing, key=lambda candidate: candidate.val, default=None)


def other_setting(table: Table, entry: Entry) -> list[str]:
    """What the setting that agrees has on the test nodes, and how far it was behind."""
    best = agreeing_candidate(table, entry)
    if best is None or entry.result is None:
        return []
    chosen = [c for c in entry.result.candidates if c.setting == entry.result.selected]
    if not chosen:
        return []
    label = table.setting_label(entry.cell, best.setting)
    runs = "1 run" if best.runs == 1 else f"{best.runs} runs"
    return [
        f"Of the settings tried, {label} ({runs}) has {100 * best.test:.1f} on the test nodes, "
        f"within, and was {distance_text(100 * (chosen[0].val - best.val))}."
    ]


def distance_text(behind: float) -> str:
    """How far a setting was behind the chosen one in validation, in words.

    One that was dropped after fewer runs may be ahead: halving compares equal numbers of them.
    """
    if behind >= 0:
        return f"{behind:.1f} points behind on the validation nodes"
    return f"{-behind:.1f} points ahead on the validation nodes of its fewer runs"


def agrees(table: Table, entry: Entry, candidate: Candidate) -> bool:
    """Whether a setting's mean on the test nodes is within the paper's deviations."""
    assert entry.published is not None
    return verdict(100 * candidate.test, entry.published, table.spec.tolerance) == "within"
