"""The picture of the operator's benchmark."""

from pathlib import Path

from elasticgnn.figures import new_figure


def draw(results: dict, target: Path) -> Path:
    """Times faster than plain torch, then cost against edges, steps and channels."""
    figure = new_figure(4)
    axes = figure.axes
    draw_speedups(axes[0], results["rows"])
    linear = results["linear"]
    for kind in ("grid", "random"):
        points = [point for point in linear["edges"] if point["kind"] == kind]
        draw_growth(axes[1], points, "edges", kind)
    draw_growth(axes[2], linear["steps"], "steps", "grid")
    draw_growth(axes[3], linear["width"], "width", "grid")
    labels = ("edges (d = 8, K = 10)", "steps (100,000 edges, d = 8)", "channels (100,000 edges)")
    for axis, label in zip(axes[1:], labels, strict=True):
        axis.set_xlabel(label)
        axis.set_ylabel("seconds")
        axis.legend()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target)
    return target


def draw_speedups(axis, rows: list) -> None:
    """A bar for each graph and number of threads: the graphs have no order to join by a line."""
    counts = sorted({row["threads"] for row in rows})
    names = [row["name"] for row in rows if row["threads"] == counts[0]]
    for k, threads in enumerate(counts):
        times = [row["forward_seconds"] for row in rows if row["threads"] == threads]
        at = [
            place + (k - (len(counts) - 1) / 2) * 0.8 / len(counts) for place in range(len(names))
        ]
        label = "1 thread" if threads == 1 else f"{threads} threads"
        axis.bar(at, [t["plain"] / t["fused"] for t in times], 0.75 / len(counts), label=label)
    axis.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axis.set_ylabel("times faster than plain torch.sparse CSR")
    axis.margins(y=0.25)  # room for the legend above the bars
    axis.legend()


def draw_growth(axis, points: list, name: str, label: str) -> None:
    """Measured points, and a line of slope 1 through the middle one."""
    at = [point[name] for point in points]
    (line,) = axis.loglog(at, [point["seconds"] for point in points], "o-", label=label)
    middle = points[len(points) // 2]
    each = middle["seconds"] / middle[name]
    axis.loglog(
        at, [each * value for value in at], ":", color=line.get_color(), label=f"{label}, linear"
    )
