"""The picture of `elasticgnn demo`: accuracy against the share of damaged edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.figures import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from elasticgnn.training.repeats.summary import Summary

STYLES = {
    "elastic": (COLOURS[0], "o", "-"),
    "appnp": (COLOURS[1], "s", "-"),
    "gcn": (COLOURS[2], "^", "-"),
    "mlp": (COLOURS[6], "", "--"),
}
LABELS = {
    "random": ("Wrong edges added at random", "added, in % of all edges"),
    "metattack": ("Edges flipped by Metattack", "flipped, in % of all edges"),
}


def draw(tables: dict[str, dict[str, list[Summary]]], path: Path) -> None:
    """Writes one panel per kind of damage, one line per model with its 95 % interval."""
    from elasticgnn.demo.trainings import DAMAGES

    figure = new_figure(len(tables), panel=(4.8, 4.4), sharey=True)
    panels = figure.axes
    for axes, (damage, rows) in zip(panels, tables.items(), strict=True):
        title, label = LABELS[damage]
        x = [100 * share for share in DAMAGES[damage]]
        draw_lines(axes, x, rows)
        axes.set(title=title, xlabel=label, xticks=x)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("test accuracy on Cora in %")
    panels[-1].legend(frameon=False, loc="lower left")
    save_figure(figure, path)


def draw_lines(axes: Any, x: list[float], rows: dict[str, list[Summary]]) -> None:
    """The models of one panel."""
    from elasticgnn.demo.trainings import MODELS

    for model, summaries in rows.items():
        color, marker, line = STYLES[model]
        mean = [100 * s.mean for s in summaries]
        margin = [0.0 if s.margin != s.margin else 100 * s.margin for s in summaries]
        low = [m - e for m, e in zip(mean, margin, strict=True)]
        high = [m + e for m, e in zip(mean, margin, strict=True)]
        axes.plot(x, mean, line, color=color, marker=marker, lw=2, ms=6, label=MODELS[model])
        axes.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
