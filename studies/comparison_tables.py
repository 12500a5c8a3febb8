"""The tables of the pages about attacks, on the comparisons of models, from their stored rows.

results/attacks/rows has the whole comparison (evasion), results/attacks/protocols the others.
"""

from collections.abc import Sequence
from pathlib import Path

from elasticgnn.robustness import Outcome, outcomes
from elasticgnn.robustness.store import Row, read_rows

Cells = list[list[str]]
METHODS = ("dice", "prbcd", "lrbcd", "eva")
TITLES = {"random": "random", "dice": "DICE", "metattack": "Metattack", "prbcd": "PRBCD"}
TITLES |= {"lrbcd": "LR-BCD", "eva": "EvA"}
THROUGH_A_MODEL = ("prbcd", "lrbcd", "eva")  # found through each model anew


def stored(folder: Path, protocol: str) -> list[Row]:
    """All rows of the folder's one file of a protocol."""
    (path,) = folder.glob(f"{protocol}-*.jsonl")
    return list(read_rows(path))


def spread(outcome: Outcome | None, *, deviation: bool = True) -> str:
    """Mean ± deviation over the seeds in per cent, a dash for none."""
    if outcome is None:
        return "-"
    beside = f" ± {100 * outcome.deviation:.1f}" if deviation else ""
    return f"{100 * outcome.mean:.1f}{beside}"


def rates_of(rows: Sequence[Row]) -> list[float]:
    """The budgets, ascending."""
    return sorted({row.rate for row in rows if row.rate > 0})


def models_of(rows: Sequence[Row]) -> list[str]:
    """The models in their order."""
    return list(dict.fromkeys(name for row in rows for name in row.accuracy))


def worst(rows: list[Row]) -> tuple[list[str], Cells]:
    """Clean accuracy and the worst of all attacks at every budget; head and body."""
    found = {(o.model, o.attack, o.mode, o.rate): o for o in outcomes(rows)}
    body = [
        [
            model,
            spread(found[model, "all", "clean", 0.0]),
            *(spread(found.get((model, "all", "worst", rate))) for rate in rates_of(rows)),
        ]
        for model in models_of(rows)
    ]
    return ["model", "clean", *(f"{100 * rate:g} %, worst" for rate in rates_of(rows))], body


def by_attack(rows: list[Row]) -> tuple[list[str], Cells]:
    """What each attack leaves: through the model itself, DICE for all; head and body."""
    found = {(o.model, o.attack, o.mode, o.rate): o for o in outcomes(rows)}
    rates, body = rates_of(rows), Cells()
    for model in models_of(rows):
        cells = [model]
        for method in METHODS:
            mode = "transfer" if method == "dice" else "adaptive"
            parts = [found.get((model, method, mode, rate)) for rate in rates]
            left = (spread(part, deviation=False) for part in parts)
            cells.append("-" if parts[0] is None else " / ".join(left))
        body.append(cells)
    return ["model", "DICE", "PRBCD", "LR-BCD", "EvA"], body


def by_protocol(rows: list[Row]) -> tuple[list[str], Cells]:
    """What each attack leaves at every budget, the worst of all, and processor seconds of a seed.

    An attack that goes through a model is that through the model itself.
    """
    found = {(o.model, o.attack, o.mode, o.rate): o for o in outcomes(rows)}
    rates, attacks = rates_of(rows), [name for name in TITLES if name in {r.attack for r in rows}]
    every = "all" if len(attacks) > 1 else attacks[0]
    budgets, body = " / ".join(f"{100 * rate:g}" for rate in rates) + " %", Cells()
    for model in models_of(rows):
        cells = [model, spread(found[model, "all", "clean", 0.0])]
        for name in attacks:
            mode = "adaptive" if name in THROUGH_A_MODEL else "transfer"
            parts = [found.get((model, name, mode, rate)) for rate in rates]
            cells.append(" / ".join(spread(part, deviation=False) for part in parts))
        cells += [spread(found.get((model, every, "worst", rate))) for rate in rates]
        body.append([*cells, *seconds(spent_on(model, rows))[:2]])
    heads = [f"{TITLES[name]}, {budgets}" for name in attacks]
    heads += [f"{100 * rate:g} %, worst" for rate in rates]
    title = f"model, {rows[0].protocol}"
    return [title, "clean", *heads, "s of training", "s of attacks"], body


def spent_on(model: str, rows: list[Row]) -> dict[str, float]:
    """Processor seconds of a seed: of training a model, and of attacks through it."""
    seeds = len({row.seed for row in rows})
    training = sum(row.training.get(model, 0.0) for row in rows)
    attacks = sum(row.seconds for row in rows if row.source == model)
    return {"training": training / seeds, "attacks": attacks / seeds}


def costs(rows: list[Row]) -> tuple[list[str], Cells]:
    """Processor seconds of all trainings and attacks by the model they went through, without DICE.

    DICE goes through no model and takes less than a second in all.
    """
    body, searched = Cells(), METHODS[1:]
    total = dict.fromkeys(("training", *searched), 0.0)
    for model in models_of(rows):
        spent = {"training": sum(row.training.get(model, 0.0) for row in rows)}
        for method in searched:
            mine = [row for row in rows if row.attack == method and row.source == model]
            spent[method] = sum(row.seconds for row in mine)
        body.append([model, *seconds(spent)])
        total = {name: total[name] + spent[name] for name in total}
    return ["through", "training", "PRBCD", "LR-BCD", "EvA", "together"], [
        *body,
        ["all", *seconds(total)],
    ]


def seconds(spent: dict[str, float]) -> list[str]:
    """Whole seconds of each part, and of all."""
    return [f"{value:.0f}" for value in (*spent.values(), sum(spent.values()))]
