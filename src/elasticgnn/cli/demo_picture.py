"""The picture of `elasticgnn demo`: accuracy against the share of wrong edges."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elasticgnn.training.summary import Summary

STYLES = {
    "elastic": ("#0b5394", "o", "-"),
    "appnp": ("#b45f06", "s", "-"),
    "gcn": ("#38761d", "^", "-"),
    "mlp": ("#666666", "", "--"),
}


def draw(rows: dict[str, list[Summary]], path: Path) -> None:
    """Writes a PNG: one line per model with its 95 % interval, named at its right end."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from elasticgnn.cli.demo import MODELS, SHARES

    figure = Figure(figsize=(7.2, 4.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    x = [100 * share for share in SHARES]
    for model, summaries in rows.items():
        color, marker, line = STYLES[model]
        mean = [100 * s.mean for s in summaries]
        margin = [0.0 if s.margin != s.margin else 100 * s.margin for s in summaries]
        low = [m - e for m, e in zip(mean, margin, strict=True)]
        high = [m + e for m, e in zip(mean, margin, strict=True)]
        axes.plot(x, mean, line, color=color, marker=marker, lw=2, ms=6, label=MODELS[model])
        axes.fill_between(x, low, high, color=color, alpha=0.15, lw=0)
    axes.set(
        title="Cora with wrong edges added",
        xlabel="wrong edges added, in % of all edges",
        ylabel="test accuracy in %",
        xticks=x,
    )
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, format="png")
