"""Results for readers of the repository: tables, figures, and a verdict for every cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elasticgnn.experiment.results import write_whole
from elasticgnn.report.plot import has_results, save_plot
from elasticgnn.report.render import (
    LEGEND,
    digits_of,
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

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"


def publish(tables: Sequence[Table], folder: Path, document: Path | None = None) -> list[Path]:
    """Tables and figures beside the results; the generated part of `document` is replaced."""
    run = [table for table in tables if any(has_results(table, d) for d in table.spec.datasets)]
    written = []
    for table in run:
        stem = folder / table.spec.name
        texts = {".md": to_markdown(table), ".tex": to_latex(table), ".csv": to_csv(table)}
        for suffix, text in texts.items():
            write_whole(stem.with_suffix(suffix), text)
            written.append(stem.with_suffix(suffix))
        save_plot(table, stem.with_suffix(".svg"))
        written.append(stem.with_suffix(".svg"))
    if document is not None:
        write_whole(document, with_generated(document.read_text("utf-8"), run))
        written.append(document)
    return written


def with_generated(text: str, tables: Sequence[Table]) -> str:
    """`text` with everything between its two markers made anew."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"document must contain {BEGIN} and {END}, got neither or one")
    parts = "\n\n".join(study_text(table) for table in tables)
    return f"{head}{BEGIN}\n\n{parts}\n\n{END}{tail}"


def study_text(table: Table) -> str:
    """Heading, agreement, the matrix, and each cell that differs with its reason."""
    spec = table.spec
    parts = [f"### {spec.name}: {spec.title}", table.agreement()]
    if spec.metric != "objective":
        parts += [LEGEND, markdown_lines(matrix(table))]
    differing = [entry for entry in table.entries if entry.verdict in ("above", "below")]
    if differing:
        parts.append("Cells that differ, and why:")
        parts.append("\n".join(difference_line(table, entry) for entry in differing))
    missing = sorted({e.cell.dataset for e in table.entries if e.verdict == "not run"})
    if missing:
        parts.append(f"Not run or not complete: {', '.join(missing)}.")
    return "\n\n".join(parts)


def difference_line(table: Table, entry: Entry) -> str:
    digits = digits_of(table)
    title = table.spec.model(entry.cell.model).title
    label = f"{row_label(table, entry.cell.dataset, entry.cell.level)}, {title}"
    numbers = f"{mean_std(entry.ours, digits)} against {published(entry.published, digits)}"
    setting = table.setting_label(entry.cell, entry.result.selected) if entry.result else ""
    reasons = " ".join(table.remarks(entry)) or "No explanation found yet."
    return f"* {label}: {numbers}, {entry.verdict} ({setting}). {reasons}"
