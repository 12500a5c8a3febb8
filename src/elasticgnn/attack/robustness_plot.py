"""Robustness as a picture: accuracy over rate, with the line below which the graph hurts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elasticgnn.attack.robustness import Outcome


def plot_robustness(outcomes: Sequence[Outcome], path: Path, title: str = "") -> None:
    """One panel per attack and mode; the MLP, which sees no graph, is the dashed line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = sorted({(o.attack, o.mode) for o in outcomes if o.mode != "clean"})
    size = (4.2 * max(len(panels), 1), 3.6)
    figure, axes = pyplot.subplots(1, max(len(panels), 1), figsize=size, sharey=True, squeeze=False)
    models = list(dict.fromkeys(outcome.model for outcome in outcomes))
    for axis, (method, mode) in zip(axes[0], panels, strict=False):
        for number, model in enumerate(models):
            draw_model(axis, outcomes, (model, method, mode), f"C{number}")
        axis.set_title(f"{method}, {mode}")
        axis.set_xlabel("edges flipped (%)")
    axes[0][0].set_ylabel("test accuracy (%)")
    axes[0][0].legend(fontsize=8)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    pyplot.close(figure)


def draw_model(
    axis: Any, outcomes: Sequence[Outcome], key: tuple[str, str, str], color: str
) -> None:
    """The curve of one model in one panel, from its clean accuracy on."""
    model, method, mode = key
    mine = [o for o in outcomes if o.model == model and o.attack == method]
    clean = [o for o in mine if o.mode == "clean"]
    if model == "mlp":
        level = 100 * clean[0].mean
        axis.axhline(level, color="black", linestyle="--", linewidth=1, label="mlp (no graph)")
        return
    points = sorted(clean + [o for o in mine if o.mode == mode], key=lambda o: o.rate)
    axis.errorbar(
        [100 * o.rate for o in points],
        [100 * o.mean for o in points],
        [100 * o.deviation for o in points],
        color=color,
        marker="o",
        markersize=3,
        capsize=2,
        label=model,
    )
