"""The picture of the operator's benchmark."""

from pathlib import Path


def draw(results: dict, target: Path) -> Path:
    """Times faster than plain torch, then cost against edges, steps and channels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(16, 4), layout="constrained")
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
    figure.savefig(target, dpi=110)
    return target


def draw_speedups(axis, rows: list) -> None:
    for threads in sorted({row["threads"] for row in rows}):
        chosen = [row["forward_seconds"] for row in rows if row["threads"] == threads]
        names = [row["name"] for row in rows if row["threads"] == threads]
        axis.plot(
            names, [t["plain"] / t["fused"] for t in chosen], "o-", label=f"{threads} thread(s)"
        )
    axis.set_ylabel("times faster than plain torch.sparse CSR")
    axis.set_ylim(bottom=0)
    axis.tick_params(axis="x", labelrotation=20)
    axis.legend()


def draw_growth(axis, points: list, name: str, label: str) -> None:
    """Measured points, and a line of slope 1 through the middle one."""
    at = [point[name] for point in points]
    (line,) = axis.loglog(at, [point["seconds"] for point in points], "o-", label=label)
    middle = points[len(points) // 2]
    each = middle["seconds"] / middle[name]
    axis.loglog(at, [each * value for value in at], ":", color=line.get_color(), label="linear")
