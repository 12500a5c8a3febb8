"""How the cells of Table 1 were searched, and what that took."""

from __future__ import annotations

from collections.abc import Sequence

from elasticgnn.experiment.results import CellResult
from elasticgnn.report.render import markdown_lines
from elasticgnn.report.table import Entry, Table

LEGEND = (
    "search, settings tried, trainings, processor seconds of all of them; "
    "where only those of the selected setting were kept: of one (each)"
)


def searched_text(tables: Sequence[Table]) -> str:
    """Table 1's searches: a row per data set, a column per model."""
    table = next((table for table in tables if table.spec.name == "table1"), None)
    if table is None:
        return "Nothing yet."
    searched = [entry for entry in table.entries if is_searched(entry)]
    lines = [["data set", *(model.title for model in table.spec.models)]]
    for dataset in table.spec.datasets:
        cells = [table.entry(dataset, 0.0, model.name) for model in table.spec.models]
        lines.append([dataset, *(searched_cell(table, entry) for entry in cells)])
    count = f"{len(searched)} of {len(table.entries)} cells"
    return "\n\n".join([f"{count}: {LEGEND}.", markdown_lines(lines), searched_cost(searched)])


def is_searched(entry: Entry) -> bool:
    """Whether the cell's setting was searched for."""
    return entry.result is not None and entry.result.search != "fixed"


def searched_cell(table: Table, entry: Entry) -> str:
    """A cell's search, settings and trainings, and processor time where it was measured."""
    result = entry.result
    if result is None or not is_searched(entry):
        return "–"
    tried = result.candidates
    settings, space = str(len(tried)), len(table.spec.model(entry.cell.model).settings)
    if result.rule is not None and len(tried) < space:
        settings = f"{len(tried)} of {space}"
    other = "" if table.is_of_its_space(entry) else "; not of the study's present space"
    return f"{result.search}, {settings}, {trainings(result)}{time_text(result)}{other}"


def trainings(result: CellResult) -> int:
    """How many trainings the search made."""
    return sum(candidate.runs for candidate in result.candidates)


def time_text(result: CellResult) -> str:
    """Processor time of the search, or of one training, or nothing."""
    measured, each = measured_seconds(result), seconds_of_one(result)
    if measured is not None:
        return f", {measured:.0f} s"
    return "" if each is None else f", {each:.1f} s each"


def measured_seconds(result: CellResult) -> float | None:
    """Processor time of all trainings of the search, None where one was not measured."""
    times = [candidate.processor_seconds for candidate in result.candidates]
    known = [seconds for seconds in times if seconds is not None]
    return sum(known) if known and len(known) == len(times) else None


def seconds_of_one(result: CellResult) -> float | None:
    """Processor time of a run of the selected setting, None where it was not measured."""
    times = [run.processor_seconds for run in result.runs]
    known = [seconds for seconds in times if seconds is not None]
    return sum(known) / len(known) if known else None


def searched_cost(searched: Sequence[Entry]) -> str:
    """Processor hours of all searches: measured, and at the mean of a cell's selected setting."""
    results = [entry.result for entry in searched if entry.result is not None]
    measured = [(result, measured_seconds(result)) for result in results]
    rest = [(result, seconds_of_one(result)) for result, whole in measured if whole is None]
    hours = sum(whole or 0.0 for _, whole in measured) / 3600
    count = sum(trainings(result) for result, whole in measured if whole is not None)
    guess = sum(trainings(result) * (each or 0.0) for result, each in rest) / 3600
    others = sum(trainings(result) for result, each in rest if each is not None)
    unknown = sum(trainings(result) for result, each in rest if each is None)
    return (
        f"Together {count + others + unknown} trainings. Measured: {hours:.1f} processor hours "
        f"for {count}; at the seconds of one: {guess:.1f} for {others}; not known: {unknown}."
    )
