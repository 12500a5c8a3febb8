"""Figures of a study as files, drawn by matplotlib."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path
from typing import Any

from elasticgnn.experiment.spec import ModelSpec
from elasticgnn.figures import (
    COLOURS,
    MARKERS,
    legend_below,
    literal,
    new_figure,
    save_figure,
    write_figure,
)
from elasticgnn.files import PICTURES
from elasticgnn.report.series import mean_series
from elasticgnn.report.table import Table

PANEL = (3.6, 3.6)  # inches: a study may have eight of them
LABEL = 24  # letters in a line of a model's name


def save_plot(table: Table, path: Path) -> None:
    """One panel per data set that has results: lines along the axis, or a row per model."""
    if path.suffix not in PICTURES:
        raise ValueError(f"output must end in one of {PICTURES}, got {path.name!r}")
    save_figure(drawn(table), path, make_folder=True)


def plot_bytes(table: Table, kind: str) -> bytes:
    """The file that `save_plot` would write."""
    file = io.BytesIO()
    write_figure(drawn(table), file, kind)
    return file.getvalue()


def drawn(table: Table) -> Any:
    """The figure of a study."""
    names = [name for name in table.spec.datasets if has_results(table, name)]
    if not names:
        raise ValueError(f"{table.spec.name} must have results to be plotted, got none")
    figure = new_figure(len(names), panel=PANEL, sharey=in_rows(table))
    for axes, name in zip(figure.axes, names, strict=True):
        draw_panel(axes, table, name)
        axes.set_title(literal(name))
    legend_below(figure, columns=8)
    figure.suptitle(literal(table.spec.title), fontsize=10)
    return figure


def in_rows(table: Table) -> bool:
    """Whether the models stand in rows, because the study has no axis to draw them along."""
    return table.spec.metric != "objective" and table.spec.axis == "none"


def has_results(table: Table, dataset: str) -> bool:
    """Whether any cell of the data set was run."""
    return any(e.result is not None for e in table.entries if e.cell.dataset == dataset)


def draw_panel(axes: Any, table: Table, dataset: str) -> None:
    """Draws one data set: rows, lines over levels, or curves over steps."""
    if table.spec.metric == "objective":
        draw_series(axes, table, dataset)
    elif in_rows(table):
        draw_rows(axes, table, dataset)
    else:
        draw_lines(axes, table, dataset)
    axes.spines[["top", "right"]].set_visible(False)


def styles(table: Table) -> list[tuple[ModelSpec, str, str]]:
    """Each model with its colour and marker; of more than there are, pairs are all different."""
    return [
        (model, COLOURS[k % len(COLOURS)], MARKERS[(k + k // len(COLOURS)) % len(MARKERS)])
        for k, model in enumerate(table.spec.models)
    ]


def draw_lines(axes: Any, table: Table, dataset: str) -> None:
    """Mean with its 95 % interval against the axis; the paper's means dashed."""
    for model, colour, marker in styles(table):
        entries = [table.entry(dataset, level, model.name) for level in table.spec.levels]
        run = [(e.cell.level, e.ours) for e in entries if e.ours is not None]
        if not run:
            continue
        x = [level for level, _ in run]
        means, label = [s.mean for _, s in run], literal(model.title)
        axes.plot(x, means, f"{marker}-", ms=4, color=colour, label=label)
        axes.fill_between(
            x, [s.low for _, s in run], [s.high for _, s in run], color=colour, alpha=0.15
        )
        paper = [(e.cell.level, e.published.mean) for e in entries if e.published is not None]
        axes.plot([p[0] for p in paper], [p[1] for p in paper], "--", lw=0.8, color=colour)
    axes.set_xlabel("share of edges changed" if table.spec.axis == "rate" else "steps K")
    axes.set_ylabel("test accuracy, % (dashed: paper)")


def draw_rows(axes: Any, table: Table, dataset: str) -> None:
    """One row per model: a dot with its interval, and a hollow diamond for the paper's mean."""
    models = table.spec.models
    for row, (model, colour, _) in enumerate(styles(table)):
        entry = table.entry(dataset, 0.0, model.name)
        if (ours := entry.ours) is not None:
            axes.errorbar([ours.mean], [row], xerr=[ours.margin], fmt="o", color=colour, capsize=3)
        if entry.published is not None:
            axes.plot([entry.published.mean], [row], "D", mfc="none", color=colour, ms=7)
    names = [textwrap.fill(literal(model.title), LABEL) for model in models]
    axes.set_yticks(range(len(models)), names)
    axes.set_ylim(len(models) - 0.5, -0.5)  # the first on top
    axes.plot([], [], "ko", label="ours, 95 % interval")
    axes.plot([], [], "kD", mfc="none", label="paper")


def draw_series(axes: Any, table: Table, dataset: str) -> None:
    """The objective after each step, relative to its value after the last one."""
    for model, colour, _ in styles(table):
        values = mean_series(table.entry(dataset, 0.0, model.name))
        if values:
            axes.plot(range(len(values)), values, "-", color=colour, label=literal(model.title))
    axes.set_xlabel("step k")
    axes.set_ylabel("objective / objective at the last step")
