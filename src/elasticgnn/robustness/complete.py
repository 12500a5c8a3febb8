"""Which seeds of an interrupted comparison have all their rows: the worst of fewer looks better."""

from collections.abc import Iterable, Sequence

from elasticgnn.robustness.store import Row

Search = tuple[str, str, str]


def complete_seeds(rows: Sequence[Row], rate: float) -> set[int]:
    """The seeds that at `rate` went through all that others, or the same at other rates, did.

    What an attack goes through is known from all of its rows, those of other rates too; attacks
    without any row at `rate` were not asked for there.

    >>> from elasticgnn.robustness.complete import complete_seeds
    >>> complete_seeds([], 0.05)
    set()
    """
    here = [row for row in rows if row.rate == rate]
    attacks = {row.attack for row in here}
    wanted = searches(row for row in rows if row.attack in attacks)
    seeds = {row.seed for row in here}
    return {seed for seed in seeds if searches(r for r in here if r.seed == seed) >= wanted}


def searches(rows: Iterable[Row]) -> set[Search]:
    """Attack, source and route of the rows; graphs that came ready-made differ by seed."""
    return {(row.attack, row.source, row.route if row.source else "") for row in rows}
