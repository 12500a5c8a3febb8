"""The picture of `elasticgnn demo`: accuracy against the share of damaged edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticgnn.training.summary import Summary

STYLES = {
    "elastic": ("#0b5394", "o", "-"),
    "appnp": ("#b45f06", "s", "-"),
    "gcn": ("#38761d", "^", "-"),
    "mlp": ("#666666", "", "--"),
}
LABELS = {
    "random": ("Wrong edges added at random", "added, in % of all edges"),
    "metattack": ("Edges flipped by Metattack", "flipped, in % of all edges"),
}


def draw(tables: dict[str, dict[str, list[Summary]]], path: Path) -> None:
    """Writes a PNG: one panel per kind of damage, one line per model with its 95 % interval."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from elasticgnn.cli.demo_cells import DAMAGES

    figure = Figure(figsize=(9.6, 4.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(tables), sharey=True, squeeze=False)[0]
    for axes, (damage, rows) in zip(panels, tables.items(), strict=True):
        title, label = LABELS[damage]
        x = [100 * share for share in DAMAGES[damage]]
        draw_lines(axes, x, rows)
        axes.set(title=title, xlabel=label, xticks=x)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("test accuracy on Cora in %")
    panels[-1].legend(frameon=False, loc="lower left")
    figure.savefig(path, format="png")


def draw_lines(axes: Any, x: list[float], rows: dict[str, list[Summary]]) -> None:
    """The models of one panel."""
    from elasticgnn.cli.demo_cells import MODELS

    for model, summaries in rows.items():
        color, marker, line = STYLES[model]
        mean = [100 * s.mean for s in summaries]
        margin = [0.0 if s.margin != s.margin else 100 * s.margin for s in summaries]
        low = [m - e for m, e in zip(mean, margin, strict=True)]
        high = [m + e for m, e in zip(mean, margin, strict=True)]
        axes.plot(x, mean, line, color=color, marker=marker, lw=2, ms=6, label=MODELS[model])
        axes.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
