"""A picture of a node among its neighbours, edges coloured by what they did to its prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elasticgnn.extras import optional_imports
from elasticgnn.figures import literal, new_figure, save_figure
from elasticgnn.training.prediction.explanation import Explanation, NumberExplanation

FOR, AGAINST = "#2459a8", "#c0392b"
CLASSES = ("#3b7dd8", "#e08a1e", "#2f9e58", "#d64550", "#9a5fd0", "#17a2b8", "#b5651d", "#c04c9d")
DRAWN, LISTED = 24, 10  # neighbours in the picture, features in the bars


Known = Explanation | NumberExplanation


def save_explanation(known: Known, class_names: tuple[str, ...], path: Path) -> None:
    """The neighbourhood on the left, the node's own features on the right."""
    figure = new_figure(2, panel=(5.25, 5), widths=[3, 2])
    ring, bars = figure.axes
    draw_ring(ring, known, colours_of(known, class_names))
    draw_bars(bars, known)
    if isinstance(known, Explanation):
        headline = (
            f"{plain(known.label)} {100 * known.probability:.1f} % ({100 * known.alone:.1f} %"
        )
    else:
        headline = f"{known.written(known.value)} ({known.written(known.alone)}"
    figure.suptitle(f"{plain(known.name)}: {headline} without any edge)", fontsize=11)
    save_figure(figure, path, make_folder=True)


def centre_label(known: Known) -> str:
    """The output for the node, written as for its neighbours."""
    return known.label if isinstance(known, Explanation) else known.written(known.value)


def colours_of(known: Known, class_names: tuple[str, ...]) -> dict[str, Any]:
    """The colour of each class; of numbers, the larger the darker."""
    if isinstance(known, Explanation):
        return {name: CLASSES[k % len(CLASSES)] for k, name in enumerate(class_names)}
    with optional_imports():
        from matplotlib import colormaps

    values = {label: float(label) for label in (p.label for p in known.neighbours)}
    values[centre_label(known)] = known.value
    low, span = min(values.values()), max(values.values()) - min(values.values())
    shade = colormaps["Blues"]
    return {label: shade(0.25 + 0.7 * (v - low) / (span or 1.0)) for label, v in values.items()}


def effect_text(known: Known, effect: float) -> str:
    """Points of probability, or what is added to the number."""
    return f"{100 * effect:+.1f}" if isinstance(known, Explanation) else f"{effect:+.3g}"


def unit_word(known: Known) -> str:
    """What effects are counted in."""
    return "points" if isinstance(known, Explanation) else "added to the number"


def plain(text: str) -> str:
    """Text of a file, short, with no sign that matplotlib would take for a formula."""
    short = text if len(text) <= 24 else f"{text[:23]}…"
    return literal(short)


def draw_ring(axes: Any, known: Known, colour: dict[str, Any]) -> None:
    """The node in the middle; the wider an edge, the larger its effect."""
    shown = known.neighbours[:DRAWN]
    largest = max((abs(part.effect) for part in shown), default=0.0) or 1.0
    for k, part in enumerate(shown):
        angle = np.pi / 2 - 2 * np.pi * k / len(shown)
        x, y = np.cos(angle), np.sin(angle)
        width = 0.6 + 5 * abs(part.effect) / largest
        axes.plot([0, x], [0, y], color=FOR if part.effect >= 0 else AGAINST, lw=width, zorder=1)
        axes.scatter([x], [y], s=160, color=colour[part.label], zorder=2, edgecolors="white")
        text = f"{plain(part.name)}\n{effect_text(known, part.effect)}"
        axes.text(1.2 * x, 1.17 * y, text, ha="center", va="center", fontsize=7)
    axes.scatter([0], [0], s=420, color=colour[centre_label(known)], zorder=3, edgecolors="black")
    used = dict.fromkeys([centre_label(known), *(part.label for part in shown)])
    for name in list(used)[:8] if isinstance(known, Explanation) else sorted(used, key=float)[::7]:
        axes.scatter([], [], color=colour[name], label=plain(name))
    is_class = isinstance(known, Explanation)
    axes.plot([], [], color=FOR, label="edge speaks for it" if is_class else "edge raises it")
    against = "edge speaks against it" if is_class else "edge lowers it"
    axes.plot([], [], color=AGAINST, label=against)
    axes.legend(fontsize=7, loc="lower left", frameon=False)
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.4, 1.4), aspect="equal")
    title = f"{len(shown)} of {known.num_neighbours} neighbours, {unit_word(known)}"
    axes.set_title(title, fontsize=9)
    axes.axis("off")


def draw_bars(axes: Any, known: Known) -> None:
    """One bar per feature: what its value adds or takes."""
    features = known.features[:LISTED]
    scale = 100 if isinstance(known, Explanation) else 1
    values = [scale * part.effect for part in features]
    colours = [FOR if value >= 0 else AGAINST for value in values]
    axes.barh(range(len(values)), values, color=colours)
    names = [f"{plain(part.name)} = {part.value:.4g}" for part in features]
    axes.set_yticks(range(len(values)), names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color="#777777", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    title = f"its own features, {unit_word(known)}" if features else "no features of its own"
    axes.set_title(title, fontsize=9)
    if not features:
        axes.set_axis_off()
