"""Table and picture of the penalties' accuracies under PRBCD.

python studies/mcp_plot.py results/attacks/mcp.json docs/figures/mcp.png
"""

import json
import sys
from pathlib import Path
from statistics import fmean

from elasticgnn.figures import COLOURS, MARKERS, legend_below, new_figure

STRENGTHS = ("lambda1", "lambda2")


def name_of(row: dict) -> str:
    """Family with the penalty it predicts with."""
    penalty = row["predicting"]
    numbers = [penalty[name] for name in STRENGTHS]
    numbers += [penalty["concavity"]] if penalty["concavity"] else []
    family = row["family"].removesuffix(" (3, 3)")
    return f"{family} ({', '.join(f'{number:g}' for number in numbers)})"


def style_of(number: int) -> dict[str, str]:
    """Colour and marker of the line with this number."""
    shift = number + number // len(COLOURS)
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[shift % len(MARKERS)]}


def main() -> None:
    source, output = map(Path, sys.argv[1:])
    rows = json.loads(source.read_text())
    rates = sorted({row["rate"] for row in rows})
    names = list(dict.fromkeys(map(name_of, rows)))
    edgeless = {name_of(r) for r in rows if not any(map(r["predicting"].get, STRENGTHS))}

    def mean(name: str, column: str, rate: float | None = None) -> float:
        mine = [r for r in rows if name_of(r) == name and rate in (None, r["rate"])]
        return 100 * fmean(r[column] for r in mine)

    heads = [f"{rate:.0%}, itself | {rate:.0%}, worst" for rate in rates]
    print("| penalty | clean | " + " | ".join(heads) + " |")
    print("|" + " --- |" * (2 + 2 * len(rates)))
    figure = new_figure(panel=(6.4, 4.8))
    (axes,) = figure.axes
    for number, name in enumerate(names):
        cells = [mean(name, "clean")]
        for rate in rates:
            cells += [mean(name, "adaptive", rate), mean(name, "worst", rate)]
        print(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
        line = "--" if name in edgeless else "-" if number < len(COLOURS) else ":"
        x = [0.0, *(100 * rate for rate in rates)]
        axes.plot(x, [cells[0], *cells[2::2]], line, markersize=4, label=name, **style_of(number))
    seeds = len({row["seed"] for row in rows})
    axes.set(xlabel="edges flipped by PRBCD (%)", ylabel="test accuracy (%), worst of all attacks")
    axes.set_title(f"Penalties on the Cora component, {seeds} networks")
    legend_below(figure, 3, "penalty (lambda1, lambda2, concavity)")
    figure.savefig(output)


if __name__ == "__main__":
    main()
