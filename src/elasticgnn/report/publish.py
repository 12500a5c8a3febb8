"""Results for readers of the repository: tables, figures, and a verdict for every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from elasticgnn.experiment.results import dump_rows
from elasticgnn.files import write_whole
from elasticgnn.report.blocks import with_blocks
from elasticgnn.report.claims import RULE, Judgement, claim_lines, claim_rows, judge_all
from elasticgnn.report.costs import costs_text
from elasticgnn.report.plot import has_results, save_plot
from elasticgnn.report.reasons import reason_text
from elasticgnn.report.render import (
    digits_of,
    legend,
    markdown_lines,
    matrix,
    mean_std,
    published,
    row_label,
    to_csv,
    to_latex,
    to_markdown,
)
from elasticgnn.report.table import Entry, Table


def publish(tables: Sequence[Table], folder: Path, documents: Sequence[Path] = ()) -> list[Path]:
    """Tables and figures beside the results; the blocks of `documents` are made anew.

    Blocks: summary, verdicts, searched and costs, wherever a page has their markers.
    """
    run = [table for table in tables if any(has_results(table, d) for d in table.spec.datasets)]
    judged = judge_all(run)
    texts = {path: path.read_text("utf-8") for path in documents}
    contents = {
        "summary": summary_text(run, judged),
        "verdicts": verdicts_text(run, judged, folder),
        "searched": searched_text(run),
        "costs": costs_text(folder),
    }
    pages = {path: with_blocks(text, contents) for path, text in texts.items()}
    written = [path for table in run for path in write_table(table, folder)]
    pages[folder / "claims.json"] = dump_rows({"claims": claim_rows(judged)})
    for path, text in pages.items():
        write_whole(path, text)
        written.append(path)
    return written


def write_table(table: Table, folder: Path) -> list[Path]:
    """The table as Markdown, LaTeX and CSV, and its figure."""
    stem = folder / table.spec.name
    texts = {".md": to_markdown(table), ".tex": to_latex(table), ".csv": to_csv(table)}
    for suffix, text in texts.items():
        write_whole(stem.with_suffix(suffix), text, make_folder=True)
    save_plot(table, stem.with_suffix(".svg"))
    return [stem.with_suffix(suffix) for suffix in (*texts, ".svg")]


def summary_text(tables: Sequence[Table], judged: Sequence[Judgement]) -> str:
    """How many cells of each study agree, and how many sentences hold."""
    kinds = (None, False, True)  # all, the paper's own models, rivals
    head = ["study", "cells within one deviation", "within two", "the paper's own", "rivals"]
    lines = [[*head, "above", "below"]]
    for table in tables:
        every, own, rivals = (table.judged(rivals=kind) for kind in kinds)
        if every:
            shares = [within_text(table, every, 1.0)]
            shares += [within_text(table, entries, 2.0) for entries in (every, own, rivals)]
            outside = (str(table.count(verdict)) for verdict in ("above", "below"))
            lines.append([table.spec.name, *shares, *outside])
    return f"{markdown_lines(lines)}\n\n{claims_sentence(judged)}"


def within_text(table: Table, entries: Sequence[Entry], deviations: float) -> str:
    """ "77 of 100"."""
    return f"{table.within(entries, deviations)} of {len(entries)}"


def claims_sentence(judged: Sequence[Judgement]) -> str:
    """Counts of verdicts on the paper's sentences, each by the study that is the paper's."""
    first = {judgement.claim.sentence: judgement.verdict for judgement in reversed(judged)}
    counts = Counter(first.values())
    words = ("confirmed", "partly", "not confirmed", "open")
    named = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    return f"Of {len(first)} sentences of section 4 that records can judge: {named}."


def claims_text(judged: Sequence[Judgement]) -> str:
    """The table of the paper's sentences."""
    lines = markdown_lines(claim_lines(judged))
    return f"### claims: the sentences of section 4\n\n{RULE}\n\n{lines}"


def verdicts_text(tables: Sequence[Table], judged: Sequence[Judgement], folder: Path) -> str:
    """The sentences, then every study with its matrix and the cells that differ."""
    return "\n\n".join([claims_text(judged), *(study_text(table, folder) for table in tables)])


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
    legend = "search, settings tried, trainings, processor seconds of one (of the selected setting)"
    return "\n\n".join([f"{count}: {legend}.", markdown_lines(lines), searched_cost(table)])


def is_searched(entry: Entry) -> bool:
    """Whether the cell's setting was searched for."""
    return entry.result is not None and entry.result.search != "fixed"


def searched_cell(table: Table, entry: Entry) -> str:
    """A cell's search, settings and trainings, and processor time where it was measured."""
    if entry.result is None or not is_searched(entry):
        return "–"
    tried = entry.result.candidates
    trainings = sum(candidate.runs for candidate in tried)
    mean = mean_seconds(entry)
    each = "" if mean is None else f", {mean:.1f} s"
    space, rule = len(table.spec.model(entry.cell.model).settings), entry.result.rule
    settings = str(len(tried))
    if rule is not None and len(tried) < space:
        settings = f"{len(tried)} of {space}"
    other = "" if table.is_of_its_space(entry) else "; not of the study's present space"
    return f"{entry.result.search}, {settings}, {trainings}{each}{other}"


def mean_seconds(entry: Entry) -> float | None:
    """Processor time of a run of the selected setting, None where it was not measured."""
    assert entry.result is not None
    times = [run.processor_seconds for run in entry.result.runs]
    known = [seconds for seconds in times if seconds is not None]
    return sum(known) / len(known) if known else None


def searched_cost(table: Table) -> str:
    """Trainings of all searches, and processor hours if every training took the mean above."""
    searched = [entry for entry in table.entries if is_searched(entry)]
    trainings, seconds, unknown = 0, 0.0, 0
    for entry in searched:
        assert entry.result is not None
        own = sum(candidate.runs for candidate in entry.result.candidates)
        mean = mean_seconds(entry)
        trainings += own
        seconds += 0.0 if mean is None else own * mean
        unknown += own if mean is None else 0
    hours = f"{seconds / 3600:.1f} processor hours for {trainings - unknown} of them"
    return f"Together {trainings} trainings, at the seconds above {hours}."


def study_text(table: Table, folder: Path) -> str:
    """Heading, agreement, the matrix, and each cell that differs with its reason."""
    spec = table.spec
    parts = [f"### {spec.name}: {spec.title}", table.agreement()]
    parts += [legend(table), markdown_lines(matrix(table))]
    differing = [entry for entry in table.entries if entry.verdict in ("above", "below")]
    if differing:
        parts.append("Cells that differ, and why:")
        parts.append("\n".join(difference_line(table, entry, folder) for entry in differing))
    missing = sorted({e.cell.dataset for e in table.entries if e.verdict == "not run"})
    if missing:
        parts.append(f"Not run or not complete: {', '.join(missing)}.")
    return "\n\n".join(parts)


def difference_line(table: Table, entry: Entry, folder: Path) -> str:
    """A line on a cell that differs from the paper, with the reasons known."""
    digits = digits_of(table)
    title = table.spec.model(entry.cell.model).title
    label = f"{row_label(table, entry.cell.dataset, entry.cell.level)}, {title}"
    numbers = f"{mean_std(entry.ours, digits)} against {published(entry.published, digits)}"
    setting = table.setting_label(entry.cell, entry.result.selected) if entry.result else ""
    reasons = reason_text(table, entry, folder)
    return f"* {label}: {numbers}, {entry.verdict} ({setting}). {reasons}"
