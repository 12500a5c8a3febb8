"""Every model under every other's flips: the transfer matrix."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean

from elasticgnn.robustness.complete import complete_seeds
from elasticgnn.robustness.store import OTHER_KINDS, Row


@dataclass(frozen=True)
class Transfer:
    """Accuracies (one per seed) of a model under the flips found through `source` at one rate.

    Of several attacks and routes the worst counts; seeds that lack one do not. Source "" is what
    was found through no model.

    >>> from elasticgnn.robustness.matrix import Transfer
    >>> round(Transfer("gcn", "elastic", 0.05, (0.5, 0.7)).mean, 2)
    0.6
    """

    source: str
    model: str
    rate: float
    accuracy: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean accuracy over the seeds."""
        return fmean(self.accuracy)


def transfer_matrix(rows: Iterable[Row]) -> tuple[Transfer, ...]:
    """All cells of the rows with flipped edges, by rate, source and model.

    >>> from elasticgnn.robustness.matrix import transfer_matrix
    >>> transfer_matrix([])
    ()
    """
    worst: dict[tuple[float, str, str], dict[int, float]] = {}
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        if row.rate > 0 and row.attack not in OTHER_KINDS:
            by_source.setdefault(row.source, []).append(row)
    for mine in by_source.values():
        complete = {rate: complete_seeds(mine, rate) for rate in {row.rate for row in mine}}
        for row in (row for row in mine if row.seed in complete[row.rate]):
            for model, value in row.accuracy.items():
                seeds = worst.setdefault((row.rate, row.source, model), {})
                seeds[row.seed] = min(value, seeds.get(row.seed, 1.0))
    return tuple(
        Transfer(source, model, rate, tuple(value for _, value in sorted(seeds.items())))
        for (rate, source, model), seeds in worst.items()
    )
