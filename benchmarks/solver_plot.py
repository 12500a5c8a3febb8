"""The picture of the solver's benchmark."""

from pathlib import Path
from typing import Any

from elasticgnn.figures import COLOURS, MARKERS, legend_below, new_figure

ASKED_GAP = 1e-6  # relative: what every solver is asked for


def draw(records: list[dict[str, Any]], target: Path, lambda1: float = 0.5) -> Path:
    """Seconds against nodes for one and two channels; hollow where the gap asked for was missed."""
    figure = new_figure(2, sharey=True)
    timed = [row for row in records if row["lambda1"] == lambda1 and "seconds" in row]
    names = list(dict.fromkeys(row["name"] for row in timed))
    for axis, channels in zip(figure.axes, (1, 2), strict=True):
        for number, name in enumerate(names):
            own = [row for row in timed if (row["name"], row["channels"]) == (name, channels)]
            draw_solver(axis, own, name, number)
        axis.set_xlabel("nodes of the grid")
        axis.set_title(f"{channels} channel{'s' if channels > 1 else ''}, lambda1 = {lambda1:g}")
    figure.axes[0].set_ylabel("seconds")
    legend_below(figure, len(names), f"hollow: stopped at a relative gap above {ASKED_GAP:g}")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)
    return target


def draw_solver(axis: Any, rows: list[dict[str, Any]], name: str, number: int) -> None:
    """The line of one solver, of the same colour and marker in every panel."""
    if not rows:
        return
    nodes, seconds = [row["side"] ** 2 for row in rows], [row["seconds"] for row in rows]
    style: dict[str, Any] = {"color": COLOURS[number], "marker": MARKERS[number]}
    missed = [row["relative_gap"] > ASKED_GAP for row in rows]
    face = "white" if any(missed) else COLOURS[number]
    axis.loglog(nodes, seconds, label=name, markerfacecolor=face, **style)
    for x, y, hollow in zip(nodes, seconds, missed, strict=True):
        axis.loglog(x, y, markerfacecolor="white" if hollow else COLOURS[number], **style)
