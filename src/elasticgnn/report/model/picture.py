"""What a model is worth as a picture, for those who prefer files to pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elasticgnn.figures import new_figure, save_figure
from elasticgnn.report.model.evidence import evidence
from elasticgnn.report.model.findings import ModelFindings
from elasticgnn.report.model.neighbourhood import plain
from elasticgnn.training.tuning.metrics import ERRORS

CURVES = {"val_loss": "validation loss", "loss": "training loss"}


def save_worth(findings: ModelFindings, path: Path) -> None:
    """Confusion matrix, reliability diagram and learning curves, as far as they are known."""
    known = evidence(findings)
    if "confusion" not in known:
        raise ValueError("labels must name nodes kept away from training for a picture, got none")
    figure = new_figure(3, panel=(4.3, 4.2))
    confusion, reliability, curves = figure.axes
    draw_confusion(confusion, known["confusion"], findings.trained.class_names)
    draw_reliability(reliability, known["reliability"])
    draw_curves(curves, known["curves"], known["curve_title"])
    estimate, metric = known["estimate"], known["metric"]
    interval = interval_of(metric, estimate)
    title = f"{findings.trained.family} on {plain(findings.task.name)}"
    figure.suptitle(
        f"{title}: {metric} {interval} on {estimate['nodes']} nodes kept away", fontsize=11
    )
    save_figure(figure, path, make_folder=True)


def interval_of(metric: str, estimate: dict[str, float]) -> str:
    """The estimate and its interval; errors are stored negative, so their ends change places."""
    value, low, high = (estimate[name] for name in ("value", "low", "high"))
    if metric in ERRORS:
        value, low, high = abs(value), abs(high), abs(low)
    return f"{value:.3f} (95 % between {low:.3f} and {high:.3f})"


def draw_confusion(axes: Any, counts: list[list[int]], names: tuple[str, ...]) -> None:
    """Counts on shares of each true class."""
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    labels = [plain(name) for name in names]
    axes.set_xticks(range(len(names)), labels, rotation=90 if len(names) > 3 else 0, fontsize=7)
    axes.set_yticks(range(len(names)), labels, fontsize=7)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            colour = "white" if shares[i][j] > 0.55 else "black"
            axes.text(j, i, str(count), ha="center", va="center", fontsize=7, color=colour)
    axes.set(xlabel="the model says", ylabel="true class", title="confusion matrix")


def draw_reliability(axes: Any, bins: list[dict[str, float]]) -> None:
    """Stated probability against the share that was right; dots as large as their bins."""
    most = max(part["nodes"] for part in bins)
    x, y = ([part[name] for part in bins] for name in ("confidence", "accuracy"))
    axes.plot([0, 1], [0, 1], "--", color="#777777", lw=1)
    axes.plot(x, y, "-", color="#2459a8")
    axes.scatter(x, y, [20 + 120 * part["nodes"] / most for part in bins], color="#2459a8")
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.02), xlabel="stated probability", ylabel="share right")
    axes.set_title("reliability")


def draw_curves(axes: Any, runs: list[dict[str, Any]], title: str) -> None:
    """The validation loss of each fold or split; the training loss where there is none."""
    kind = next((name for name in CURVES if any(name in run for run in runs)), None)
    for number, run in enumerate(runs):
        if kind in run:
            epochs = [run["stride"] * step for step in range(len(run[kind]))]
            axes.plot(epochs, run[kind], lw=1, label=f"{title} {number + 1}")
    axes.set_title(CURVES[kind] if kind else "no epochs: weights are computed in one go")
    axes.set_xlabel("epoch")
    if kind is None:
        axes.set_axis_off()
    elif len(runs) <= 10:
        axes.legend(fontsize=7, frameon=False)
