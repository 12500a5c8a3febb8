"""What the searches that are left would take, from the record of `studies/costs.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elasticgnn.report.render import markdown_lines


def costs_text(folder: Path) -> str:
    """The hours left, from the record in `folder`."""
    path = folder / "costs.json"
    if not path.is_file():
        return "Not estimated yet."
    return "\n\n".join(cost_parts(json.loads(path.read_text("utf-8"))))


def cost_parts(record: dict[str, Any]) -> list[str]:
    """The sum, a table by study and data set, grids that were sampled, epochs profiled."""
    rows = record["left"]
    hours, trainings = total(rows, "hours_left"), sum(row["left"] for row in rows)
    parts = [f"Left: {trainings} trainings, {hours:.1f} processor hours."]
    spent = record.get("spent", [])
    parts += [spent_sentence(study, spent) for study in dict.fromkeys(r["study"] for r in spent)]
    lines = [["study", "data set", "trainings left", "processor hours"]]
    for study, dataset in dict.fromkeys((row["study"], name_of(row)) for row in rows):
        own = [row for row in rows if (row["study"], name_of(row)) == (study, dataset)]
        left = sum(row["left"] for row in own)
        lines.append([study, dataset, str(left), f"{total(own, 'hours_left'):.2f}"])
    parts += [markdown_lines(lines)] if rows else []
    parts += [grid_sentence(row) for row in record.get("grids", [])]
    return parts + [profile_sentence(row) for row in record.get("profiles", [])]


def name_of(row: dict[str, Any]) -> str:
    """The data set of a group."""
    return str(row["group"]).split()[0]


def total(rows: list[dict[str, Any]], key: str) -> float:
    """The sum of one column."""
    return float(sum(row[key] for row in rows))


def spent_sentence(study: str, spent: list[dict[str, Any]]) -> str:
    """What the recorded storages measured of a study, and on which data sets."""
    rows = [row for row in spent if row["study"] == study]
    runs, hours = sum(row["runs"] for row in rows), total(rows, "processor_hours")
    names = dict.fromkeys(name_of(group) for row in rows for group in row["groups"])
    return (
        f"Measured by the storages that are recorded: {study}, {hours:.1f} processor hours for "
        f"{runs} trainings ({', '.join(names)})."
    )


def grid_sentence(row: dict[str, Any]) -> str:
    """What a full grid takes, and from how many trainings that is known."""
    minutes = 60 * row["processor_hours"]
    return (
        f"The full grid of {row['cell']} ({row['trainings']} trainings): {minutes:.0f} processor "
        f"minutes, {minutes / 2:.0f} minutes on two cores, from {row['sampled']} trainings drawn "
        f"from its settings ({row['sampled_processor_seconds']:.0f} processor seconds, "
        f"{row['sampled_epochs']:.0f} epochs each)."
    )


def profile_sentence(row: dict[str, Any]) -> str:
    """The operations that an epoch spends most time in."""
    shares = ", ".join(f"{name} {share:.0f} %" for name, share in row["shares"].items())
    return f"An epoch of {row['cell']}, by operations: {shares}."
