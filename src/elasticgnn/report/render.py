"""A table as text: terminal, Markdown, LaTeX, CSV, JSON."""

from __future__ import annotations

import math
from typing import Any, Literal

from elasticgnn.experiment import Summary
from elasticgnn.experiment.spec import Published
from elasticgnn.extras import optional_imports
from elasticgnn.files import csv_text, markdown_text, visible
from elasticgnn.report.series import SERIES_LEGEND, series_csv, series_matrix
from elasticgnn.report.statistics import word
from elasticgnn.report.table import Entry, Table

MARKS = {"within": "=", "above": "↑", "below": "↓", "not run": "", "not in the paper": ""}
COLUMNS = (
    "study",
    "dataset",
    "level",
    "model",
    "mean",
    "std",
    "low",
    "high",
    "runs",
    "paper_mean",
    "paper_std",
    "verdict",
    "paired_mean",
    "paired_low",
    "paired_high",
    "search",
    "setting",
)


def number(value: float, digits: int) -> str:
    """The value with so many digits."""
    return f"{value:.{digits}f}"


def digits_of(table: Table) -> int:
    """Digits as the paper prints them: ratios with two, the rest with one."""
    return 2 if table.spec.metric == "ratio" else 1


def mean_std(summary: Summary | None, digits: int) -> str:
    """Mean ± standard deviation, a dash where there is none."""
    if summary is None:
        return "–"
    mean = number(summary.mean, digits)
    return mean if summary.count == 1 else f"{mean} ± {number(summary.deviation, digits)}"


def interval(summary: Summary | None, digits: int) -> str:
    """The 95 % interval, a dash where there is none."""
    if summary is None or summary.count == 1:
        return "–"
    return f"{number(summary.low, digits)} to {number(summary.high, digits)}"


def signed(summary: Summary | None, digits: int) -> str:
    """A paired difference with its 95 % interval."""
    if summary is None or summary.count == 1:
        return "–"
    return f"{summary.mean:+.{digits}f} ± {number(summary.margin, digits)}"


def published(value: Published | None, digits: int) -> str:
    """The paper's number, a dash where it has none."""
    if value is None:
        return "–"
    mean = number(value.mean, digits)
    return mean if value.std is None else f"{mean} ± {number(value.std, digits)}"


def row_label(table: Table, dataset: str, level: float) -> str:
    """Data set and level, as the row is called."""
    if table.spec.axis == "rate":
        return f"{dataset} {100 * level:g} %"
    return f"{dataset} K={level:g}" if table.spec.axis == "steps" else dataset


def fewer_runs(table: Table, entry: Entry) -> str:
    """ " [3 runs]" where a cell has another number of runs than its study asks for."""
    if entry.ours is None or entry.ours.count == table.spec.protocol.runs:
        return ""
    return " [1 run]" if entry.ours.count == 1 else f" [{entry.ours.count} runs]"


def short_cell(table: Table, entry: Entry) -> str:
    """Ours, the paper's in brackets, and a mark for the verdict."""
    digits = digits_of(table)
    paper = f" ({published(entry.published, digits)})" if entry.published else ""
    ours = mean_std(entry.ours, digits) + fewer_runs(table, entry)
    fixed = "°" if entry.result is not None and entry.result.search == "fixed" else ""
    return f"{ours}{fixed}{paper} {MARKS[entry.verdict]}".rstrip()


def matrix(table: Table) -> list[list[str]]:
    """Header and rows of short cells: one line per data set and level, one column per model.

    A last column says how the study's own model compares with its baseline on the same splits.
    """
    if table.spec.metric == "objective":
        return series_matrix(table)
    last = table.contrast_title
    lines = [["", *(model.title for model in table.spec.models), *([last] if last else [])]]
    for dataset, level in table.rows:
        entries = [table.entry(dataset, level, model.name) for model in table.spec.models]
        cells = [short_cell(table, entry) for entry in entries]
        if last:
            cells.append(contrast_cell(table, dataset, level))
        lines.append([row_label(table, dataset, level), *cells])
    return lines


def contrast_cell(table: Table, dataset: str, level: float) -> str:
    """Mean ± half the 95 % interval, and whether that is a tie."""
    difference = table.contrast(dataset, level)
    if difference is None and table.was_contrasted(dataset, level):
        return "tuned differently"
    text = signed(difference, digits_of(table))
    return text if difference is None or text == "–" else f"{text} {word(difference)}"


def details(table: Table) -> list[list[str]]:
    """Header and one line per cell that was run, with intervals and the selected setting."""
    digits = digits_of(table)
    against = f"paired difference to {table.spec.baseline}" if table.spec.baseline else "paired"
    lines = [["cell", "ours", "95 % interval", "paper", "verdict", against, "selected", "search"]]
    for entry in table.entries:
        if entry.ours is None or entry.result is None:
            continue
        label = row_label(table, entry.cell.dataset, entry.cell.level)
        title = table.spec.model(entry.cell.model).title
        lines.append(
            [
                f"{label}, {title}",
                mean_std(entry.ours, digits) + fewer_runs(table, entry),
                interval(entry.ours, digits),
                published(entry.published, digits),
                entry.verdict,
                signed(entry.against_baseline, digits),
                table.setting_label(entry.cell, entry.result.selected),
                f"{entry.result.search}, {len(entry.result.candidates)}",
            ]
        )
    return lines


LEGEND = (
    "Ours: mean ± standard deviation over the runs, the paper's number in brackets; "
    "= within, ↑ above, ↓ below the paper's mean by more than the study's tolerance; "
    "° one fixed setting, without a search of its own. "
    "Paired: mean difference over runs with the same split and seed ± half its 95 % interval; "
    "a tie where the interval contains 0; none where one model was searched and the other was "
    "not, or where both are fixed at different rates or dropout."
)


def legend(table: Table) -> str:
    """What the signs of the matrix mean, and the tolerance behind them."""
    if table.spec.metric == "objective":
        return SERIES_LEGEND
    tolerance = table.spec.tolerance
    margin = f"{tolerance.std:g} published deviations or {tolerance.points:g}"
    return f"{LEGEND} Tolerance: {margin}, whichever is wider."


def to_markdown(table: Table) -> str:
    """Title, agreement, matrix, details, notes."""
    spec = table.spec
    parts = [f"## {markdown_text(f'{spec.name}: {spec.title}')}", table.agreement()]
    parts += [
        legend(table),
        markdown_lines(matrix(table)),
        *(["Every cell:", markdown_lines(every)] if len(every := details(table)) > 1 else []),
        "\n".join(f"* {markdown_text(note)}" for note in (*table.attacks(), *spec.notes)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_lines(lines: list[list[str]]) -> str:
    """A Markdown table whose first line is the header."""
    rows = [f"| {' | '.join(map(markdown_text, line))} |" for line in lines]
    rows.insert(1, f"|{'---|' * len(lines[0])}")
    return "\n".join(rows)


def to_latex(table: Table) -> str:
    """A booktabs tabular of the matrix."""
    lines = matrix(table)
    body = [" & ".join(latex_text(text) for text in line) + r" \\" for line in lines]
    head = rf"\begin{{tabular}}{{l{'c' * (len(lines[0]) - 1)}}}"
    rows = [head, r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule", r"\end{tabular}"]
    return "\n".join([f"% {' '.join(table.spec.title.split())}", *rows]) + "\n"


def latex_text(text: str) -> str:
    """The text with LaTeX's own signs; a name cannot be a command."""
    signs = {"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
    signs |= {"–": "--", "°": r"$^\circ$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    signs |= {"\\": r"\textbackslash{}", **{sign: f"\\{sign}" for sign in "%&#_{}$"}}
    return "".join(signs.get(sign, sign) for sign in " ".join(text.split()))


def to_rows(table: Table) -> list[dict[str, Any]]:
    """One record per cell, plain values, None where there is nothing."""
    return [to_row(table, entry) for entry in table.entries]


def columns(table: Table) -> tuple[str, ...]:
    """The names of a record's values; those of the attack only where there was one."""
    attack = ("attack", "attack_rate", "attack_graph")
    return COLUMNS if table.spec.protocol.attack is None else (*COLUMNS, *attack)


def to_row(table: Table, entry: Entry) -> dict[str, Any]:
    """A cell as one flat row."""
    ours, pair, paper, result = entry.ours, entry.against_baseline, entry.published, entry.result
    values = (
        table.spec.name,
        entry.cell.dataset,
        entry.cell.level,
        entry.cell.model,
        ours and ours.mean,
        ours and finite(ours.deviation),
        ours and finite(ours.low),
        ours and finite(ours.high),
        ours and ours.count,
        paper and paper.mean,
        paper and paper.std,
        entry.verdict,
        pair and pair.mean,
        pair and finite(pair.low),
        pair and finite(pair.high),
        result and result.search,
        result and table.setting_label(entry.cell, result.selected),
    )
    attack = result and result.attack
    of_attack = (attack.file, attack.rate, attack.fingerprint) if attack else (None, None, None)
    return dict(zip(columns(table), (*values, *of_attack), strict=False))


def finite(value: float) -> float | None:
    """The value, None where it is not finite."""
    return value if math.isfinite(value) else None


def to_csv(table: Table) -> str:
    """The table as CSV."""
    if table.spec.metric == "objective":
        return series_csv(table)
    names = columns(table)
    rows = ([row[name] for name in names] for row in to_rows(table))
    return csv_text(names, ([f"{v:.4f}" if isinstance(v, float) else v for v in r] for r in rows))


def print_table(table: Table, *, show_details: bool = False) -> None:
    """The matrix (or every cell) on the terminal."""
    with optional_imports():
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

    def shown(text: str) -> Text:  # as it is: no markup, no control characters
        return Text(visible(text))

    console = Console()
    lines = details(table) if show_details else matrix(table)
    grid = RichTable(
        title=shown(f"{table.spec.name}: {table.spec.title}"), caption=table.agreement()
    )
    for position, title in enumerate(lines[0]):
        side: Literal["left", "right"] = "left" if position == 0 else "right"
        grid.add_column(shown(title), justify=side, overflow="fold")
    for line in lines[1:]:
        grid.add_row(*(shown(cell.replace(" (", "\n(", 1)) for cell in line))
    console.print(grid)
    for remark in (legend(table), *table.attacks()):
        console.print(shown(remark))
