"""Results for readers of the repository: tables, figures, and a verdict for every cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from elasticgnn.experiment.results import dump_rows
from elasticgnn.files import write_whole
from elasticgnn.report.claims import RULE, Judgement, claim_lines, claim_rows, judge_all
from elasticgnn.report.costs import with_costs
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

BEGIN, END = "<!-- generated: begin -->", "<!-- generated: end -->"
SEARCHED = "<!-- searched: begin -->", "<!-- searched: end -->"


def publish(tables: Sequence[Table], folder: Path, document: Path | None = None) -> list[Path]:
    """Tables and figures beside the results; the generated part of `document` is replaced."""
    run = [table for table in tables if any(has_results(table, d) for d in table.spec.datasets)]
    written = []
    for table in run:
        stem = folder / table.spec.name
        texts = {".md": to_markdown(table), ".tex": to_latex(table), ".csv": to_csv(table)}
        for suffix, text in texts.items():
            write_whole(stem.with_suffix(suffix), text, make_folder=True)
            written.append(stem.with_suffix(suffix))
        save_plot(table, stem.with_suffix(".svg"))
        written.append(stem.with_suffix(".svg"))
    judged = judge_all(run)
    write_whole(folder / "claims.json", dump_rows({"claims": claim_rows(judged)}))
    written.append(folder / "claims.json")
    if document is not None:
        text = claims_text(judged)
        filled = with_costs(with_searched(document.read_text("utf-8"), run), folder)
        write_whole(document, with_generated(filled, run, folder, text))
        written.append(document)
    return written


def claims_text(judged: Sequence[Judgement]) -> str:
    """The table of the paper's sentences."""
    lines = markdown_lines(claim_lines(judged))
    return f"### claims: the sentences of section 4\n\n{RULE}\n\n{lines}"


def with_generated(text: str, tables: Sequence[Table], folder: Path, first: str = "") -> str:
    """`text` with everything between its two markers made anew; `first` before the tables."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"document must contain {BEGIN} and {END}, got neither or one")
    texts = [first, *(study_text(table, folder) for table in tables)]
    parts = "\n\n".join(part for part in texts if part)
    return f"{head}{BEGIN}\n\n{parts}\n\n{END}{tail}"


def with_searched(text: str, tables: Sequence[Table]) -> str:
    """`text` with the list of table 1's searched cells made anew, where it asks for one."""
    begin, end = SEARCHED
    table = next((table for table in tables if table.spec.name == "table1"), None)
    if table is None or begin not in text:
        return text
    head, _, rest = text.partition(begin)
    lines = [searched_line(table, e) for e in table.entries if is_searched(e)]
    count = f"{len(lines)} of {len(table.entries)} cells:"
    parts = (begin, count, "\n".join(lines), searched_cost(table), end)
    return head + "\n\n".join(parts) + rest.partition(end)[2]


def is_searched(entry: Entry) -> bool:
    """Whether the cell's setting was searched for."""
    return entry.result is not None and entry.result.search != "fixed"


def searched_line(table: Table, entry: Entry) -> str:
    """The cell, its search, settings and trainings, and processor time where it was measured."""
    assert entry.result is not None
    tried = entry.result.candidates
    trainings = sum(candidate.runs for candidate in tried)
    mean = mean_seconds(entry)
    each = "" if mean is None else f", {mean:.1f} processor seconds each"
    space, rule = len(table.spec.model(entry.cell.model).settings), entry.result.rule
    settings = f"{len(tried)} settings"
    if rule is not None and len(tried) < space:
        settings = f"{len(tried)} of {space} settings (seed {rule.seed})"
    what = f"{entry.result.search}, {settings}, {trainings} trainings"
    other = "" if table.is_of_its_space(entry) else "; not of the study's present space"
    return f"* {table.cell_title(entry.cell)}: {what}{each}{other}"


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
