"""Search spaces: grids of settings, and how many runs each of them deserves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from elasticgnn.experiment.setting import Setting

MOST_SETTINGS = 100_000
METHODS = ("grid", "halving", "fixed")


@dataclass(frozen=True)
class Rung:
    """The best `keep` settings of the rung below are brought up to `runs` runs."""

    keep: int
    runs: int

    def __post_init__(self) -> None:
        if self.keep < 1 or self.runs < 1:
            raise ValueError(f"keep and runs must be >= 1, got {self.keep}, {self.runs}")


@dataclass(frozen=True)
class SearchPlan:
    """grid: every setting, all runs; halving: by `rungs`; fixed: one setting, all runs.

    Of a space with more settings than the first rung keeps, that many are drawn with `seed`.
    """

    method: str = "grid"
    rungs: tuple[Rung, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"search must be one of {METHODS}, got {self.method!r}")
        if self.method == "halving" and not self.rungs:
            raise ValueError("rungs must be given for a search by halving, got none")
        runs = [rung.runs for rung in self.rungs]
        if runs != sorted(set(runs)):
            raise ValueError(f"rungs must have growing numbers of runs, got {runs}")
        if type(self.seed) is not int or self.seed < 0:
            raise ValueError(f"seed of the draw must be a whole number >= 0, got {self.seed!r}")

    @property
    def label(self) -> str:
        """The rule of a halving in words; of another plan its method."""
        if self.method != "halving":
            return self.method
        first, *others = self.rungs
        drawn = f"at most {first.keep} settings (drawn with seed {self.seed} from a larger space)"
        steps = [f"the best {rung.keep} with {rung.runs}" for rung in others]
        return ", ".join([f"{drawn} with {plural(first.runs)}", *steps])

    def to_json(self) -> dict[str, Any]:
        """The rule of a halving as values for JSON."""
        return {"seed": self.seed, "rungs": [asdict(rung) for rung in self.rungs]}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> SearchPlan:
        """The rule that `to_json` gave."""
        return cls("halving", tuple(Rung(**rung) for rung in table["rungs"]), table["seed"])


def plural(runs: int) -> str:
    """ "1 run", "2 runs"."""
    return "1 run" if runs == 1 else f"{runs} runs"


def expand(base: Mapping[str, Any], grids: Iterable[Mapping[str, Any]]) -> Iterator[Setting]:
    """Every setting of the union of `grids`, each once, in order; `base` fills the gaps."""
    seen: set[Setting] = set()
    for grid in grids:
        names = list(grid)
        if math.prod(len(as_list(grid[name])) for name in names) > MOST_SETTINGS:
            raise ValueError(f"space must have at most {MOST_SETTINGS} settings, got more")
        for values in product(*(as_list(grid[name]) for name in names)):
            chosen = dict(zip(names, values, strict=True))
            setting = Setting.from_json({**base, **chosen}).canonical()
            if setting not in seen:
                seen.add(setting)
                yield setting


def as_list(value: Any) -> list[Any]:
    """The value as a list, of one where it is none."""
    return list(value) if isinstance(value, list) else [value]
