"""The objective along the steps as numbers: what the figure draws."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, stdev

from elasticgnn.files import csv_text
from elasticgnn.report.table import Entry, Table

SHOWN_STEPS = (0, 1, 2, 3, 5, 10, 20, 40)
SERIES_LEGEND = (
    "Objective after k steps divided by the same run's objective after the last step: mean ± "
    "standard deviation over the runs. Last column: the largest rise from a step to the next."
)


def relative_series(entry: Entry) -> list[list[float]]:
    """Per run: the objective after 0, 1, ... steps divided by its last value."""
    if entry.result is None:
        return []
    runs = [record.series["objective"] for record in entry.result.runs]
    return [[value / run[-1] for value in run] for run in runs]


def mean_series(entry: Entry) -> list[float]:
    """The mean over runs of each run's objective divided by its last value."""
    return [fmean(values) for values in zip(*relative_series(entry), strict=True)]


def largest_rise(entry: Entry) -> float:
    """The largest increase from one step to the next of any run; 0 if all only fall."""
    runs = relative_series(entry)
    return max((b - a for run in runs for a, b in pairwise(run)), default=0.0)


def series_matrix(table: Table) -> list[list[str]]:
    """Header and one line per data set: the relative objective at some of the steps."""
    lengths = [len(mean_series(entry)) for entry in table.entries]
    steps = [step for step in SHOWN_STEPS if step < max(lengths, default=0)]
    lines = [["", *(f"k = {step}" for step in steps), "largest rise"]]
    for entry in table.entries:
        runs = relative_series(entry)
        cells = [spread([run[step] for run in runs]) for step in steps if runs]
        rise = f"{max(largest_rise(entry), 0.0):.1e}" if runs else "–"
        lines.append([entry.cell.dataset, *(cells or ["–"] * len(steps)), rise])
    return lines


def spread(values: list[float]) -> str:
    """Mean ± standard deviation with four digits."""
    return f"{fmean(values):.4f}" + (f" ± {stdev(values):.4f}" if len(values) > 1 else "")


def series_csv(table: Table) -> str:
    """One line per data set, model, run and step: the objective and its share of the last one."""
    rows: list[list[object]] = []
    for entry in table.entries:
        for record in entry.result.runs if entry.result else ():
            values = record.series["objective"]
            for step, value in enumerate(values):
                row = [table.spec.name, entry.cell.dataset, entry.cell.model, record.run, step]
                rows.append([*row, f"{value:.7g}", f"{value / values[-1]:.6f}"])
    names = ("study", "dataset", "model", "run", "step", "objective", "relative")
    return csv_text(names, rows)
