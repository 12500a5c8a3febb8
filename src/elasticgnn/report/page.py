"""All studies as one HTML page: data, style and script inside, nothing loaded from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from elasticgnn.experiment import Summary
from elasticgnn.experiment.record import RunRecord
from elasticgnn.experiment.results import CellResult
from elasticgnn.files import write_whole
from elasticgnn.report.claims import RULE, claim_rows, judge_all
from elasticgnn.report.render import digits_of, finite
from elasticgnn.report.series import mean_series
from elasticgnn.report.statistics import word
from elasticgnn.report.table import Entry, Table

ASSETS = resources.files("elasticgnn.report") / "assets"
SCRIPTS = ("svg.js", "chart.js", "curves.js", "tables.js", "page.js")
CURVE_POINTS = 100
CANDIDATES = 12


def write_page(tables: Sequence[Table], path: Path) -> None:
    """The page of `tables`, written whole.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.experiment import load_spec
    >>> from elasticgnn.report import build_table, write_page
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     write_page([build_table(load_spec("table1"), Path("no-such-folder"))], page)
    ...     "<html" in page.read_text()
    True
    """
    write_whole(path, render_page(tables), make_folder=True)


def render_page(tables: Sequence[Table]) -> str:
    """The HTML text; the data are one JSON element that the script reads."""
    data = json.dumps(page_data(tables), allow_nan=False, separators=(",", ":"))
    parts = {
        "STYLE": asset("style.css"),
        "DATA": data.replace("<", "\\u003c"),  # nothing in the data can close the element
        "SCRIPT": "\n".join(asset(name) for name in SCRIPTS),
    }
    # one pass: what looks like a place to fill in the data stays as it is
    return re.sub(r"/\*(STYLE|DATA|SCRIPT)\*/", lambda place: parts[place[1]], asset("page.html"))


def asset(name: str) -> str:
    """The text of a file that the page is made of."""
    return (ASSETS / name).read_text("utf-8")


def page_data(tables: Sequence[Table]) -> dict[str, Any]:
    """Everything the page shows, as values for JSON."""
    run = [table for table in tables if any(e.result is not None for e in table.entries)]
    claims = {"rule": RULE, "rows": claim_rows(judge_all(run))}
    return {"claims": claims, "studies": [study_data(table) for table in run]}


def study_data(table: Table) -> dict[str, Any]:
    """One study as values for JSON."""
    spec = table.spec
    entries = [entry_data(table, entry) for entry in table.entries if shown(entry)]
    return {
        "name": spec.name,
        "title": spec.title,
        "unit": spec.unit,
        "metric": spec.metric,
        "axis": spec.axis,
        "levels": spec.levels,
        "datasets": [d for d in spec.datasets if any(e["dataset"] == d for e in entries)],
        "models": [{"name": model.name, "title": model.title} for model in spec.models],
        "baseline": spec.baseline,
        "compare": spec.compare,
        "contrast": table.contrast_title,
        "digits": digits_of(table),
        "runs": spec.protocol.runs,
        "notes": [*table.attacks(), *spec.notes],
        "agreement": table.agreement(),
        "counts": {word: table.count(word) for word in ("within", "above", "below", "not run")},
        "entries": entries,
    }


def shown(entry: Entry) -> bool:
    """Whether the cell has anything to show."""
    return entry.result is not None or entry.published is not None


def entry_data(table: Table, entry: Entry) -> dict[str, Any]:
    """One cell as values for JSON."""
    cell, paper, result = entry.cell, entry.published, entry.result
    data: dict[str, Any] = {
        "dataset": cell.dataset,
        "level": cell.level,
        "model": cell.model,
        "verdict": entry.verdict,
        "ours": summary_data(entry.ours),
        "paired": summary_data(entry.against_baseline),
        "word": entry.against_baseline and word(entry.against_baseline),
        "paper": paper and [paper.mean, paper.std],
        "remarks": table.remarks(entry),
    }
    if result is not None:
        data |= result_data(table, result)
    if table.spec.metric == "objective":
        data["series"] = [round(value, 6) for value in mean_series(entry)]
    return data


def summary_data(summary: Summary | None) -> list[float | None] | None:
    """Mean, deviation and interval, four digits."""
    if summary is None:
        return None
    spread = (finite(v) for v in (summary.deviation, summary.low, summary.high))
    return [summary.mean, *(value and round(value, 4) for value in spread)]


def result_data(table: Table, result: CellResult) -> dict[str, Any]:
    """Search, candidates and runs of a cell as values for JSON."""
    label = partial(table.setting_label, result.cell)
    best = sorted(result.candidates, key=lambda c: (-c.runs, -c.val))[:CANDIDATES]
    return {
        "search": result.search if result.rule is None else f"halving: {result.rule.label}",
        "setting": label(result.selected),
        "tried": len(result.candidates),
        "candidates": [[label(c.setting), c.runs, 100 * c.val, 100 * c.test] for c in best],
        "runs": [run_data(table, record) for record in result.runs],
        "environment": dict(result.environments[-1]) if result.environments else {},
    }


def run_data(table: Table, record: RunRecord) -> dict[str, Any]:
    """One run with its curves thinned to what a screen can show."""
    stride = max(1, -(-record.epochs // CURVE_POINTS))
    names = [name for name in ("loss", "val", "test") if name in record.curves]
    value = None if table.spec.metric == "objective" else record.metric(table.spec.metric)
    return {
        "run": record.run,
        "seed": record.seed,
        "split": record.split,
        "value": value,
        "epoch": record.selected_epoch,
        "epochs": record.epochs,
        "seconds": record.seconds,
        "stride": stride,
        **{name: [round(v, 3) for v in record.curve(name)[::stride]] for name in names},
    }
