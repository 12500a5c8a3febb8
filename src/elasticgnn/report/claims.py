"""The paper's sentences beside the records: confirmed, partly, not confirmed, or still open."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import pairwise
from typing import Any

from elasticgnn.experiment import Summary
from elasticgnn.report.statistics import word
from elasticgnn.report.table import Entry, Table, are_comparable, paired_runs

SOURCE = resources.files("elasticgnn.report") / "claims.toml"
SHARES = {"all": 1.0, "almost all": 0.9, "most": 0.5}
FEW = 7  # cases that are shown in a line
RULE = (
    "Made from the records alone. A case is a paired comparison; it holds where the 95 % interval "
    "lies above 0 if the sentence says significant, else where the mean difference is positive; "
    "then the number of cases whose interval excludes 0 stands beside it (beyond chance: each "
    "comparison by itself, no correction for their number). A margin holds where it lies in our "
    "interval. Confirmed: all cases (almost all: 90 %, most: more than half). Partly: at least "
    "half of the cases. Open: cases that cannot be judged yet (a searched model beside an "
    "unsearched one) could change the answer."
)


@dataclass(frozen=True)
class PaperClaim:
    """One sentence, and which cells it speaks of."""

    study: str
    sentence: str
    ours: tuple[str, ...]
    others: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    needs: str = "all"
    significant: bool = False
    margins: Mapping[str, float] = field(default_factory=dict)
    from_level: float | None = None
    small_level: float | None = None
    to_level: float | None = None
    gain: float = 1.0
    decreasing: bool = False

    def __post_init__(self) -> None:
        if self.needs not in SHARES:
            raise ValueError(f"needs must be one of {tuple(SHARES)}, got {self.needs!r}")


@dataclass(frozen=True)
class Case:
    """One comparison that a sentence implies; holds is None where it cannot be judged.

    `sign` is the word of a difference whose mean alone decides: higher, lower or tie.
    """

    name: str
    holds: bool | None
    figure: str
    sign: str = ""


@dataclass(frozen=True)
class Judgement:
    """A sentence with all its cases and what they make of it."""

    claim: PaperClaim
    cases: tuple[Case, ...]

    @property
    def judged(self) -> list[Case]:
        """The cases that records decide."""
        return [case for case in self.cases if case.holds is not None]

    @property
    def held(self) -> int:
        """How many cases hold."""
        return sum(case.holds is True for case in self.judged)

    @property
    def verdict(self) -> str:
        """What the cases say; "open" where those not judged could change it."""
        total = len(self.cases)
        worst = verdict_of(self.held, total, self.claim.needs)
        best = verdict_of(self.held + total - len(self.judged), total, self.claim.needs)
        return worst if worst == best else "open"

    @property
    def summary(self) -> str:
        """ "17 of 20 cases", how many are more than chance, and how many cannot be judged."""
        open_cases = len(self.cases) - len(self.judged)
        rest = f"; {open_cases} not judged" if open_cases else ""
        return f"{self.held} of {len(self.judged)} cases{self.beyond_chance}{rest}"

    @property
    def beyond_chance(self) -> str:
        """In how many cases the interval excludes 0, on either side; empty where it decides."""
        signs = [case.sign for case in self.cases]
        if not any(signs):
            return ""
        against = signs.count("lower")
        other_way = f", {against} the other way" if against else ""
        return f" ({signs.count('higher')} beyond chance{other_way})"


def verdict_of(held: int, cases: int, needs: str) -> str:
    """Confirmed from the sentence's share on, partly from half of the cases on."""
    share = held / cases
    if share > 0.5 if needs == "most" else share >= SHARES[needs]:
        return "confirmed"
    return "partly" if share >= 0.5 else "not confirmed"


def load_claims() -> tuple[PaperClaim, ...]:
    """The sentences of claims.toml, in the paper's order; one per study that judges it."""
    rows = tomllib.loads(SOURCE.read_text("utf-8"))["claims"]
    return tuple(claim for row in rows for claim in parse_claims(row))


def parse_claims(row: dict[str, Any]) -> list[PaperClaim]:
    """One `[[claims]]` table, for its study and those it names besides; lists become tuples."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    studies = (values.pop("study"), *values.pop("also", ()))
    return [PaperClaim(study, **values) for study in studies]


def judge_all(tables: Sequence[Table]) -> list[Judgement]:
    """Every sentence about one of `tables`."""
    known = {table.spec.name: table for table in tables}
    return [judge(claim, known[claim.study]) for claim in load_claims() if claim.study in known]


def judge(claim: PaperClaim, table: Table) -> Judgement:
    """The cases of `claim` in the records of its study."""
    kinds: list[tuple[bool, Callable[[PaperClaim, Table], list[Case]]]] = [
        (claim.decreasing, decreasing_cases),
        (claim.small_level is not None, gain_cases),
        (claim.to_level is not None, step_cases),
        (bool(claim.margins), margin_cases),
        (True, pair_cases),
    ]
    cases = next(make for applies, make in kinds if applies)
    return Judgement(claim, tuple(cases(claim, table)))


def pair_cases(claim: PaperClaim, table: Table) -> list[Case]:
    """One case per row, own model and other model; none where the paper has no number (OOM)."""
    return [
        pair_case(claim, table, table.entry(dataset, level, ours), other)
        for dataset, level in table.rows
        if not claim.levels or level in claim.levels
        for ours in claim.ours
        for other in claim.others
        if not table.spec.paper or (dataset, other, level) in table.spec.paper
    ]


def pair_case(claim: PaperClaim, table: Table, entry: Entry, other: str) -> Case:
    """Whether a model beats another in one cell, and by how much."""
    rival = table.entry(entry.cell.dataset, entry.cell.level, other)
    name = f"{table.cell_title(entry.cell)} - {table.spec.model(other).title}"
    difference, reason = difference_of(table, entry, rival)
    if difference is None:
        return Case(name, None, reason)
    if claim.significant:
        return Case(name, bool(difference.low > 0), figure(difference))
    return Case(name, bool(difference.mean > 0), figure(difference), word(difference))


def difference_of(table: Table, entry: Entry, rival: Entry) -> tuple[Summary | None, str]:
    """The paired difference of two cells, or why there is none."""
    if entry.result is None or rival.result is None:
        return None, "not run"
    if not are_comparable(entry.result, rival.result):
        return None, "tuned differently"
    return paired_runs(table.spec, entry.result, rival.result), "other splits"


def figure(difference: Summary) -> str:
    """A difference with its interval and its word."""
    return f"{difference.mean:+.2f} ± {difference.margin:.2f} {word(difference)}"


def margin_cases(claim: PaperClaim, table: Table) -> list[Case]:
    """The paper's margin holds if it lies in the interval of ours."""
    cases = []
    for dataset, margin in claim.margins.items():
        level = claim.levels[0] if claim.levels else 0.0
        entry = table.entry(dataset, level, claim.ours[0])
        rival = table.entry(dataset, level, claim.others[0])
        difference, reason = difference_of(table, entry, rival)
        holds = None if difference is None else bool(difference.low <= margin <= difference.high)
        shown = reason if difference is None else figure(difference)
        cases.append(Case(f"{dataset}: {margin:g}", holds, shown))
    return cases


def step_cases(claim: PaperClaim, table: Table) -> list[Case]:
    """The accuracy at the last level against the first, per data set."""
    assert claim.from_level is not None
    assert claim.to_level is not None
    cases = []
    for dataset in table.spec.datasets:
        entry = table.entry(dataset, claim.to_level, claim.ours[0])
        start = table.entry(dataset, claim.from_level, claim.ours[0])
        difference, reason = difference_of(table, entry, start)
        holds = None if difference is None else bool(difference.low > 0)
        cases.append(Case(dataset, holds, reason if difference is None else figure(difference)))
    return cases


def gain_cases(claim: PaperClaim, table: Table) -> list[Case]:
    """The share of the gain that a few steps have, per data set."""
    levels = (claim.from_level, claim.small_level, claim.to_level)
    cases = []
    for dataset in table.spec.datasets:
        cells = [table.entry(dataset, level or 0.0, claim.ours[0]).ours for level in levels]
        none, few, many = (None if cell is None else cell.mean for cell in cells)
        if none is None or few is None or many is None or many == none:
            cases.append(Case(dataset, None, "not run"))
            continue
        share = (few - none) / (many - none)
        cases.append(Case(dataset, share >= claim.gain, f"{100 * share:.1f} % of the gain"))
    return cases


def decreasing_cases(claim: PaperClaim, table: Table) -> list[Case]:
    """Whether the objective falls at every step of every run, per data set."""
    cases = []
    for dataset in table.spec.datasets:
        result = table.entry(dataset, 0.0, claim.ours[0]).result
        if result is None:
            cases.append(Case(dataset, None, "not run"))
            continue
        steps = [pair for run in result.runs for pair in pairwise(run.series["objective"])]
        falls = sum(after < before for before, after in steps)
        cases.append(Case(dataset, falls == len(steps), f"{falls} of {len(steps)} steps fall"))
    return cases


def claim_rows(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Plain values: study, sentence, verdict, counts, and every case."""
    return [
        {
            "study": judgement.claim.study,
            "sentence": judgement.claim.sentence,
            "verdict": judgement.verdict,
            "held": judgement.held,
            "judged": len(judgement.judged),
            "summary": judgement.summary,
            "cases": [[case.name, case.holds, case.figure] for case in judgement.cases],
        }
        for judgement in judgements
    ]


def claim_lines(judgements: Sequence[Judgement]) -> list[list[str]]:
    """Header and one line per sentence, with its cases where they are few."""
    lines = [["study", "the paper says", "records say", "cases", "paired figures"]]
    for judgement in judgements:
        few = judgement.cases if len(judgement.cases) <= FEW else ()
        shown = "; ".join(f"{case.name}: {case.figure}" for case in few) or "see `study claims`"
        claim = judgement.claim
        lines.append([claim.study, claim.sentence, judgement.verdict, judgement.summary, shown])
    return lines


def claim_text(judgements: Sequence[Judgement], *, show_cases: bool = False) -> str:
    """Sentence, verdict and counts for a terminal; every case below it if wanted or few."""
    lines = []
    for judgement in judgements:
        lines.append(f"{judgement.claim.study}: {judgement.claim.sentence}")
        lines.append(f"    {judgement.verdict}: {judgement.summary}")
        for case in judgement.cases if show_cases or len(judgement.cases) <= FEW else ():
            sign = {True: "yes", False: "no", None: "open"}[case.holds]
            lines.append(f"      {sign:5s}{case.name}: {case.figure}")
    return "\n".join(lines)
