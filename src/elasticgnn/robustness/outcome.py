"""From rows to the accuracy of each model: by transfer, adaptively, and the worst of all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from elasticgnn.robustness.complete import complete_seeds
from elasticgnn.robustness.store import OTHER_KINDS, Row

MODES = ("transfer", "adaptive", "worst")


@dataclass(frozen=True)
class Outcome:
    """Accuracies (one per seed) of a model at one rate.

    mode: "clean"; "transfer", the worst over flips found through other models or none; "adaptive",
    over those through itself and its neighbours; "worst", over all, and over none: an attacker may
    leave the graph alone. Flips of smaller budgets count; a seed that lacks a row at the very rate,
    as an interrupted comparison leaves it, does not. seconds: processor time of a seed, of the
    training ("clean") or of the attacks at this very rate, predictions and retrainings included.

    >>> from elasticgnn.robustness import Outcome
    >>> outcome = Outcome("gcn", "prbcd", "adaptive", 0.05, (0.5, 0.7))
    >>> round(outcome.mean, 2), round(outcome.deviation, 2)
    (0.6, 0.14)
    """

    model: str
    attack: str  # "all", or one method
    mode: str
    rate: float
    accuracy: tuple[float, ...]
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        """Mean accuracy over the seeds."""
        return fmean(self.accuracy)

    @property
    def deviation(self) -> float:
        """Standard deviation over the seeds, 0 for one."""
        return stdev(self.accuracy) if len(self.accuracy) > 1 else 0.0


def outcomes(rows: Iterable[Row]) -> tuple[Outcome, ...]:
    """Every model, attack and rate of the rows; "all" attacks on edges together come last.

    Flips of words and labels stand alone: a share of them is no share of the edges.

    >>> from elasticgnn.robustness import outcomes
    >>> outcomes([])
    ()
    """
    rows = list(rows)
    models = list(dict.fromkeys(name for row in rows for name in row.accuracy))
    attacks = list(dict.fromkeys(row.attack for row in rows if row.rate > 0))
    edges = [attack for attack in attacks if attack not in OTHER_KINDS]
    rates = sorted({row.rate for row in rows if row.rate > 0})
    found = list[Outcome]()
    for model in models:
        clean = by_seed(row for row in rows if row.rate == 0 and model in row.accuracy)
        if clean:
            cost = fmean(row.training.get(model, 0.0) for part in clean.values() for row in part)
            found.append(Outcome(model, "all", "clean", 0.0, lowest(clean, model), cost))
        for attack in [*attacks, "all"] if len(edges) > 1 else attacks:
            kinds = (attack, "none") if attack != "all" else (*edges, "none")
            mine = [row for row in rows if model in row.accuracy and row.attack in kinds]
            for mode in MODES:
                for rate in rates:
                    part = up_to(mine, model, mode, rate)
                    if part:
                        values, cost = lowest(part, model), seconds_at(part, rate)
                        found.append(Outcome(model, attack, mode, rate, values, cost))
    return tuple(found)


def up_to(rows: list[Row], model: str, mode: str, rate: float) -> dict[int, list[Row]]:
    """The rows of a mode by seed, those of smaller budgets too, where a seed is complete there."""
    part = [row for row in rows if of_mode(row, model, mode)]
    seeds = complete_seeds([row for row in part if row.rate > 0], rate)
    return by_seed(row for row in part if row.seed in seeds and row.rate <= rate)


def of_mode(row: Row, model: str, mode: str) -> bool:
    """Whether the row counts: attacks on others, on the model itself, or all and the clean one."""
    return mode == "worst" or (row.rate > 0 and (row.source == model) == (mode == "adaptive"))


def by_seed(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """The rows of every seed."""
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.seed, []).append(row)
    return found


def seconds_at(rows: dict[int, list[Row]], rate: float) -> float:
    """Processor time of the rows at `rate`, mean over the seeds."""
    return fmean(sum(row.seconds for row in part if row.rate == rate) for part in rows.values())


def lowest(rows: dict[int, list[Row]], model: str) -> tuple[float, ...]:
    """Per seed the least that any of its rows leaves."""
    return tuple(min(r.accuracy[model] for r in part) for _, part in sorted(rows.items()))


def table(found: Sequence[Outcome]) -> list[str]:
    """Lines of plain text: one per attack, mode and model, the rates as columns.

    The last column is the processor time of the attacks of a seed at all rates.

    >>> from elasticgnn.robustness import Outcome, table
    >>> len(table([Outcome("gcn", "prbcd", "adaptive", 0.05, (0.5, 0.7))])) > 0
    True
    """
    rates = sorted({each.rate for each in found if each.rate > 0})
    clean = {each.model: each for each in found if each.mode == "clean"}
    lines: dict[tuple[str, str, str], dict[float, Outcome]] = {}
    for each in found:
        if each.mode != "clean":
            lines.setdefault((each.attack, each.mode, each.model), {})[each.rate] = each
    for model in clean.keys() - {each.model for each in found if each.mode != "clean"}:
        lines["none", "clean", model] = {}  # nothing goes through it
    width = max([len("model"), *(len(model) for _, _, model in lines)])
    heads = ["0 %", *percents(rates), "seconds"]
    text = [f"{'attack':<10} {'mode':<9} {'model':<{width}}" + cells(heads)]
    for (attack, mode, model), by_rate in sorted(lines.items()):
        row = [
            percent_text(one) for one in (clean.get(model), *(by_rate.get(rate) for rate in rates))
        ]
        cost = f"{sum(one.seconds for one in by_rate.values()):.1f}"
        text.append(f"{attack:<10} {mode:<9} {model:<{width}}" + cells([*row, cost]))
    return text


def percent_text(outcome: Outcome | None) -> str:
    """Mean ± deviation in per cent, a dash for none."""
    if outcome is None:
        return "-"
    several = len(outcome.accuracy) > 1  # one seed has no spread
    spread = f" ± {100 * outcome.deviation:.1f}" if several else ""
    return f"{100 * outcome.mean:.1f}{spread}"


def percents(rates: Sequence[float]) -> list[str]:
    """The rates in per cent."""
    return [f"{100 * rate:g} %" for rate in rates]


def cells(parts: Sequence[str]) -> str:
    """The parts in columns of twelve letters."""
    return "".join(f" {part:>12}" for part in parts)
