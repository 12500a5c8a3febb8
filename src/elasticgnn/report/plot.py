"""Figures of a study as files, drawn by matplotlib."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, BinaryIO

from elasticgnn.extras import optional_imports
from elasticgnn.figures import COLOURS, literal
from elasticgnn.files import PICTURES, whole_file
from elasticgnn.report.series import mean_series
from elasticgnn.report.table import Table


def save_plot(table: Table, path: Path) -> None:
    """One panel per data set that has results: lines along the axis, or bars per model."""
    if path.suffix not in PICTURES:
        raise ValueError(f"output must end in one of {PICTURES}, got {path.name!r}")
    save_whole(drawn(table), path)


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
    figure = new_figure(len(names))
    for position, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), position + 1)
        draw_panel(axes, table, name)
        axes.set_title(literal(name))
    figure.axes[0].legend(fontsize=7)
    figure.suptitle(literal(table.spec.title), fontsize=10)
    return figure


def new_figure(panels: int) -> Any:
    """An empty figure that touches no global state of matplotlib."""
    with optional_imports():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * panels + 0.6, 3.6), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    return figure


def save_whole(figure: Any, path: Path) -> None:
    """The file in one step."""
    with whole_file(path, make_folder=True) as file:
        write_figure(figure, file, path.suffix.removeprefix("."))


def write_figure(figure: Any, file: BinaryIO, kind: str) -> None:
    """The same figure gives the same bytes."""
    with optional_imports():
        import matplotlib as mpl

    dated = {"Date": None} if kind == "svg" else None
    with mpl.rc_context({"svg.hashsalt": "elasticgnn"}):
        figure.savefig(file, format=kind, metadata=dated)


def has_results(table: Table, dataset: str) -> bool:
    """Whether any cell of the data set was run."""
    return any(e.result is not None for e in table.entries if e.cell.dataset == dataset)


def draw_panel(axes: Any, table: Table, dataset: str) -> None:
    """Draws one data set: bars, lines over levels, or curves over steps."""
    if table.spec.metric == "objective":
        draw_series(axes, table, dataset)
    elif table.spec.axis == "none":
        draw_bars(axes, table, dataset)
    else:
        draw_lines(axes, table, dataset)
    axes.spines[["top", "right"]].set_visible(False)


def draw_lines(axes: Any, table: Table, dataset: str) -> None:
    """Mean with its 95 % interval against the axis; the paper's means dashed."""
    for model, colour in zip(table.spec.models, COLOURS, strict=False):
        entries = [table.entry(dataset, level, model.name) for level in table.spec.levels]
        run = [(e.cell.level, e.ours) for e in entries if e.ours is not None]
        if not run:
            continue
        x = [level for level, _ in run]
        axes.plot(x, [s.mean for _, s in run], "o-", ms=3, color=colour, label=literal(model.title))
        axes.fill_between(
            x, [s.low for _, s in run], [s.high for _, s in run], color=colour, alpha=0.15
        )
        paper = [(e.cell.level, e.published.mean) for e in entries if e.published is not None]
        axes.plot([p[0] for p in paper], [p[1] for p in paper], "--", lw=0.8, color=colour)
    axes.set_xlabel("share of edges changed" if table.spec.axis == "rate" else "steps K")
    axes.set_ylabel("test accuracy, % (dashed: paper)")


def draw_bars(axes: Any, table: Table, dataset: str) -> None:
    """One dot with its interval per model; a hollow diamond marks the paper's mean."""
    models = table.spec.models
    for position, (model, colour) in enumerate(zip(models, COLOURS, strict=False)):
        entry = table.entry(dataset, 0.0, model.name)
        if entry.ours is not None:
            axes.errorbar(
                [position], [entry.ours.mean], [entry.ours.margin], fmt="o", color=colour, capsize=3
            )
        if entry.published is not None:
            axes.plot([position], [entry.published.mean], "D", mfc="none", color=colour, ms=7)
    axes.set_xticks(range(len(models)), [m.title for m in models], rotation=60, fontsize=7)
    axes.plot([], [], "ko", label="ours, 95 % interval")
    axes.plot([], [], "kD", mfc="none", label="paper")


def draw_series(axes: Any, table: Table, dataset: str) -> None:
    """The objective after each step, relative to its value after the last one."""
    for model, colour in zip(table.spec.models, COLOURS, strict=False):
        values = mean_series(table.entry(dataset, 0.0, model.name))
        if values:
            axes.plot(range(len(values)), values, "-", color=colour, label=literal(model.title))
    axes.set_xlabel("step k")
    axes.set_ylabel("objective / objective at the last step")
