"""A comparison as one HTML page without network: the picture, tables and the transfer matrix."""

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

from elasticgnn.figures import write_figure
from elasticgnn.files import write_whole
from elasticgnn.robustness.matrix import Transfer, transfer_matrix
from elasticgnn.robustness.outcome import Outcome, outcomes, percent_text, percents
from elasticgnn.robustness.plot import draw_robustness
from elasticgnn.robustness.store import Row

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
.wide { overflow-x: auto } svg { max-width: 100%; height: auto; background: white }
:root { color-scheme: light dark }
"""
MEANING = (
    "Accuracy in %, mean ± deviation over the seeds. Transfer: the worst over flips found through "
    "other models or none; adaptive: over those through the model itself and its neighbours; "
    "<b>worst: over all of them, smaller budgets and the clean graph included: the table to "
    "believe.</b> Seconds are processor time of one seed. Where an interruption "
    "left a seed without some of the attacks at a rate, that seed is not counted there."
)


def write_page(comparisons: Sequence[tuple[str, Sequence[Row]]], path: Path) -> None:
    """One page about the rows of each comparison, under its name."""
    parts = [section(name, rows) for name, rows in comparisons]
    write_whole(
        path,
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Robustness</title>\n<style>{STYLE}</style>\n<h1>Robustness</h1>\n"
        f"<p>{MEANING}</p>\n" + "\n".join(parts) + "\n</html>\n",
    )


def section(name: str, rows: Sequence[Row]) -> str:
    """Everything about one comparison."""
    found = outcomes(rows)
    protocol = rows[0].protocol if rows else "no rows"
    parts = [f"<h2>{escape(name)}</h2>\n<p>Protocol: {escape(protocol)}.</p>"]
    parts.append(picture(found, name, local=protocol == "local"))
    attacks = list(dict.fromkeys(one.attack for one in found if one.mode != "clean"))
    for attack in sorted(attacks, key=lambda attack: attack != "all"):  # all of them first
        for mode in ("worst", "adaptive", "transfer"):
            chosen = [one for one in found if (one.attack, one.mode) == (attack, mode)]
            if chosen:
                kind = "all attacks on edges" if attack == "all" else attack
                parts.append(f"<h3>{escape(kind)}, {mode}</h3>\n{by_rate(chosen, found)}")
    if found and not attacks:
        parts.append(f"<h3>no attack</h3>\n{clean_alone(found)}")
    cells = transfer_matrix(rows)
    for rate in sorted({cell.rate for cell in cells}):
        chosen_cells = [cell for cell in cells if cell.rate == rate]
        title = f"Every model under everybody's flips, {percents([rate])[0]}"
        parts.append(f"<h3>{title}</h3>\n{by_source(chosen_cells)}")
    return "\n".join(parts)


def picture(found: Sequence[Outcome], name: str, *, local: bool) -> str:
    """The worst accuracy over rate, as SVG within the page."""
    if not found:
        return "<p>No rows yet.</p>"
    file = io.BytesIO()
    write_figure(draw_robustness(found, name, local=local), file, "svg")
    svg = file.getvalue().decode()
    return f'<div class="wide">{svg[svg.index("<svg") :]}</div>'


def by_rate(chosen: Sequence[Outcome], found: Sequence[Outcome]) -> str:
    """A row per model: clean, each rate, and what training and attacks cost."""
    rates = sorted({one.rate for one in chosen})
    clean = {one.model: one for one in found if one.mode == "clean"}
    cells = {(one.model, one.rate): one for one in chosen}
    rows = []
    for model in dict.fromkeys(one.model for one in chosen):
        mine = [cells.get((model, rate)) for rate in rates]
        cost = sum(one.seconds for one in mine if one is not None)
        training = f"{clean[model].seconds:.1f}" if model in clean else "-"
        numbers = [
            percent_text(clean.get(model)),
            *map(percent_text, mine),
            training,
            f"{cost:.1f}",
        ]
        rows.append([model, *numbers])
    return html_table(["model", "clean", *percents(rates), "training, s", "attacks, s"], rows)


def clean_alone(found: Sequence[Outcome]) -> str:
    """A row per model where nothing goes through any of them."""
    rows = [[one.model, percent_text(one), f"{one.seconds:.1f}"] for one in found]
    return html_table(["model", "clean", "training, s"], rows)


def by_source(cells: Sequence[Transfer]) -> str:
    """A row per source of flips, a column per model."""
    models = list(dict.fromkeys(cell.model for cell in cells))
    known = {(cell.source, cell.model): f"{100 * cell.mean:.1f}" for cell in cells}
    rows = [
        [source or "no model", *(known.get((source, model), "-") for model in models)]
        for source in dict.fromkeys(cell.source for cell in cells)
    ]
    return html_table(["flips found through", *models], rows)


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls where it is wider than the window."""
    lines = ["".join(f"<th>{escape(cell)}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    return (
        '<div class="wide"><table>' + "".join(f"<tr>{x}</tr>\n" for x in lines) + "</table></div>"
    )
