"""The picture of the operator's benchmark."""

from pathlib import Path


def draw(results: dict, target: Path) -> Path:
    """Left: time over that of K sparse products; right: cost against the number of edges."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for threads in sorted({row["threads"] for row in results["rows"]}):
        rows = [row for row in results["rows"] if row["threads"] == threads]
        speedups = [r["forward_seconds"]["plain"] / r["forward_seconds"]["fused"] for r in rows]
        left.plot([r["name"] for r in rows], speedups, "o-", label=f"{threads} thread(s)")
    left.set_ylabel("times faster than plain torch.sparse CSR")
    left.set_ylim(bottom=0)
    left.legend()
    points = results["linear"]
    edges = [point["edges"] for point in points]
    right.loglog(edges, [point["seconds"] for point in points], "o-", label="measured")
    first = points[0]["seconds"] / edges[0]
    right.loglog(edges, [first * count for count in edges], "--", label="linear")
    right.set_xlabel("edges (d = 8, K = 10)")
    right.set_ylabel("seconds")
    right.legend()
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=120)
    return target
