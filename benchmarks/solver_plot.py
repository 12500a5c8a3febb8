"""The picture of the solver's benchmark."""

from pathlib import Path
from typing import Any


def draw(records: list[dict[str, Any]], target: Path, lambda1: float = 0.5) -> Path:
    """Seconds against nodes for one and two channels; the gap really reached stands beside."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
    for axis, channels in zip(axes, (1, 2), strict=True):
        rows = [r for r in records if (r["channels"], r["lambda1"]) == (channels, lambda1)]
        rows = [r for r in rows if "seconds" in r]
        for name in dict.fromkeys(row["name"] for row in rows):
            own = [row for row in rows if row["name"] == name]
            nodes, seconds = [r["side"] ** 2 for r in own], [r["seconds"] for r in own]
            (line,) = axis.loglog(nodes, seconds, "o-", label=name)
            for row, x, y in zip(own, nodes, seconds, strict=True):
                text = f"{row['relative_gap']:.0e}"
                look = {"fontsize": 7, "color": line.get_color()}
                axis.annotate(text, (x, y), (4, 4), textcoords="offset points", **look)
        axis.set_title(f"d = {channels}, lambda1 = {lambda1} (numbers: relative gap reached)")
        axis.set_xlabel("nodes of the grid")
        axis.legend(fontsize=8)
    axes[0].set_ylabel("seconds")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)
    return target
