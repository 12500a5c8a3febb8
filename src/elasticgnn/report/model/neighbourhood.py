"""A picture of a node among its neighbours, edges coloured by what they did to its prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from elasticgnn.report.plot import new_figure, save_whole
from elasticgnn.training.explanation import Explanation, FeatureEffect

FOR, AGAINST = "#2459a8", "#c0392b"
CLASSES = ("#3b7dd8", "#e08a1e", "#2f9e58", "#d64550", "#9a5fd0", "#17a2b8", "#b5651d", "#c04c9d")
DRAWN, LISTED = 24, 10  # neighbours in the picture, features in the bars


def save_explanation(known: Explanation, class_names: tuple[str, ...], path: Path) -> None:
    """The neighbourhood on the left, the node's own features on the right."""
    figure = new_figure(2)
    figure.set_size_inches(10.5, 5)
    ring, bars = figure.subplots(1, 2, width_ratios=[3, 2])
    draw_ring(ring, known, class_names)
    draw_bars(bars, known.features[:LISTED])
    share = f"{100 * known.probability:.1f} % ({100 * known.alone:.1f} % without any edge)"
    figure.suptitle(f"{plain(known.name)}: {plain(known.label)} {share}", fontsize=11)
    save_whole(figure, path)


def plain(text: str) -> str:
    """Text of a file, short, with no sign that matplotlib would take for a formula."""
    short = text if len(text) <= 24 else f"{text[:23]}…"
    return short.replace("$", r"\$")


def draw_ring(axes: Any, known: Explanation, class_names: tuple[str, ...]) -> None:
    """The node in the middle; the wider an edge, the larger its effect."""
    colour = {name: CLASSES[k % len(CLASSES)] for k, name in enumerate(class_names)}
    shown = known.neighbours[:DRAWN]
    largest = max((abs(part.effect) for part in shown), default=0.0) or 1.0
    for k, part in enumerate(shown):
        angle = np.pi / 2 - 2 * np.pi * k / len(shown)
        x, y = np.cos(angle), np.sin(angle)
        width = 0.6 + 5 * abs(part.effect) / largest
        axes.plot([0, x], [0, y], color=FOR if part.effect >= 0 else AGAINST, lw=width, zorder=1)
        axes.scatter([x], [y], s=160, color=colour[part.label], zorder=2, edgecolors="white")
        text = f"{plain(part.name)}\n{100 * part.effect:+.1f}"
        axes.text(1.2 * x, 1.17 * y, text, ha="center", va="center", fontsize=7)
    axes.scatter([0], [0], s=420, color=colour[known.label], zorder=3, edgecolors="black")
    used = list(dict.fromkeys([known.label, *(part.label for part in shown)]))[:8]
    for name in used:
        axes.scatter([], [], color=colour[name], label=plain(name))
    axes.plot([], [], color=FOR, label="edge speaks for it")
    axes.plot([], [], color=AGAINST, label="edge speaks against it")
    axes.legend(fontsize=7, loc="lower left", frameon=False)
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.4, 1.4), aspect="equal")
    axes.set_title(f"{len(shown)} of {known.num_neighbours} neighbours, points", fontsize=9)
    axes.axis("off")


def draw_bars(axes: Any, features: tuple[FeatureEffect, ...]) -> None:
    """One bar per feature: points of probability that its value adds or takes."""
    values = [100 * part.effect for part in features]
    colours = [FOR if value >= 0 else AGAINST for value in values]
    axes.barh(range(len(values)), values, color=colours)
    names = [f"{plain(part.name)} = {part.value:.4g}" for part in features]
    axes.set_yticks(range(len(values)), names, fontsize=8)
    axes.invert_yaxis()
    axes.axvline(0, color="#777777", lw=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("its own features, points" if features else "no features of its own", fontsize=9)
