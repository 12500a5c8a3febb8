"""Robustness as a picture: accuracy over rate, with the line below which the graph hurts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elasticgnn.figures import COLOURS, MARKERS, literal, new_figure, save_figure
from elasticgnn.robustness.outcome import Outcome

FLIPPED = {"features": "words flipped (%)", "labels": "training labels changed (%)"}


def plot_robustness(
    found: Sequence[Outcome], path: Path, title: str = "", *, local: bool = False
) -> None:
    """The picture as a file; its ending says the format."""
    save_figure(draw_robustness(found, title, local=local), path)


def draw_robustness(found: Sequence[Outcome], title: str = "", *, local: bool = False) -> Any:
    """One panel per attack, the worst accuracy; the MLP, which sees no graph, is dashed.

    local: rates are shares of the attacked node's degree.
    """
    edges = "flips (% of the degree)" if local else "edges flipped (%)"
    panels = list(dict.fromkeys(each.attack for each in found if each.mode == "worst"))
    panels = panels or ["no attack"]  # the clean accuracies alone
    figure = new_figure(len(panels), sharey=True)
    models = list(dict.fromkeys(each.model for each in found))
    for axis, attack in zip(figure.axes, panels, strict=False):
        for number, model in enumerate(models):
            draw_model(axis, found, model, attack, number)
        axis.set_title("worst of all" if attack == "all" else literal(attack))
        axis.set_xlabel(FLIPPED.get(attack, edges))
    figure.axes[0].set_ylabel("test accuracy (%)")
    figure.axes[0].legend(fontsize=7)
    figure.suptitle(literal(title))
    return figure


def draw_model(axis: Any, found: Sequence[Outcome], model: str, attack: str, number: int) -> None:
    """The curve of one model in one panel, from its clean accuracy on."""
    mine = [each for each in found if each.model == model]
    clean = [each for each in mine if each.mode == "clean"]
    worst = [each for each in mine if each.mode == "worst" and each.attack == attack]
    points = sorted(clean + worst, key=lambda each: each.rate)
    axis.errorbar(
        [100 * each.rate for each in points],
        [100 * each.mean for each in points],
        [100 * each.deviation for each in points],
        color=COLOURS[number % len(COLOURS)],
        linestyle="--" if model == "mlp" else "-" if number < len(COLOURS) else ":",
        marker=MARKERS[(number + number // len(COLOURS)) % len(MARKERS)],
        markersize=3,
        capsize=2,
        label=literal(model),
    )
