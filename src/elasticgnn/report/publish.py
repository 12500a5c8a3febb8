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
from elasticgnn.report.searched import searched_text
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
