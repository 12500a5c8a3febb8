"""A study's table: ours beside the paper's, from stored results alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elasticgnn.experiment import Summary, summarize
from elasticgnn.experiment.cells import Cell, cells
from elasticgnn.experiment.execute import ELASTIC
from elasticgnn.experiment.results import CellResult, read_result
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.spec import Published, StudySpec
from elasticgnn.report.statistics import is_within, paired, verdict


@dataclass(frozen=True)
class Entry:
    """One cell: our summary, the paper's number, the verdict, and the paired difference."""

    cell: Cell
    published: Published | None
    result: CellResult | None
    ours: Summary | None
    verdict: str  # "within", "above", "below", "not in the paper" or "not run"
    against_baseline: Summary | None


@dataclass(frozen=True)
class Table:
    """All cells of a study that have a published number or a result.

    >>> from pathlib import Path
    >>> from elasticgnn.experiment import load_spec
    >>> from elasticgnn.report import build_table
    >>> build_table(load_spec("table1"), Path("no-such-folder")).count("not run") > 0
    True
    """

    spec: StudySpec
    entries: tuple[Entry, ...]

    def entry(self, dataset: str, level: float, model: str) -> Entry:
        """The cell of a data set, level and model."""
        return next(e for e in self.entries if e.cell == Cell(dataset, level, model))

    @property
    def rows(self) -> tuple[tuple[str, float], ...]:
        """Data set and level of each line, in the study's order."""
        return tuple(
            (dataset, level) for dataset in self.spec.datasets for level in self.spec.levels
        )

    @property
    def contrast_title(self) -> str | None:
        """What the last column shows: the study's model minus its baseline; None if not run."""
        if self.spec.compare is None or self.spec.baseline is None:
            return None
        if not any(self.contrast(*row) for row in self.rows):
            return None
        ours, other = (self.spec.model(n).title for n in (self.spec.compare, self.spec.baseline))
        return f"{ours} - {other}, paired"

    def contrast(self, dataset: str, level: float) -> Summary | None:
        """The paired difference of a row, if the study compares and both were run."""
        cell = Cell(dataset, level, self.spec.compare or "")
        return next((e.against_baseline for e in self.entries if e.cell == cell), None)

    def was_contrasted(self, dataset: str, level: float) -> bool:
        """Whether both models of the row's difference were run, comparable or not."""
        names = (self.spec.compare, self.spec.baseline)
        entries = [e for e in self.entries if (e.cell.dataset, e.cell.level) == (dataset, level)]
        return sum(e.cell.model in names and e.ours is not None for e in entries) == 2

    def setting_label(self, cell: Cell, setting: Setting) -> str:
        """The setting in words, without what the cell's model ignores."""
        family = self.spec.model(cell.model).family
        return setting.label(elastic=family in ELASTIC)

    def is_of_its_space(self, entry: Entry) -> bool:
        """Whether the cell's settings are of the study's space; spaces may grow after a search."""
        space = set(self.spec.model(entry.cell.model).settings)
        tried = () if entry.result is None else entry.result.candidates
        return all(candidate.setting in space for candidate in tried)

    def remarks(self, entry: Entry) -> list[str]:
        """What the study says about this cell in particular."""
        cell = entry.cell
        every = self.spec.remarks
        return [r.text for r in every if r.is_about(cell.dataset, cell.level, cell.model)]

    def attacks(self) -> list[str]:
        """One sentence per attack that the results name: file, method, clean graph, share."""
        found = {entry.result.attack: None for entry in self.entries if entry.result is not None}
        return [
            f"Attack: {a.file} ({a.method}), {a.flips} flips, {100 * a.rate:.1f} % of the edges of "
            f"graph {a.fingerprint[:12]}."
            for a in found
            if a is not None
        ]

    def count(self, *verdicts: str) -> int:
        """How many cells have one of these verdicts."""
        return sum(entry.verdict in verdicts for entry in self.entries)

    def judged(self, *, rivals: bool | None = None) -> list[Entry]:
        """The cells run that have a published number: all, the rivals' or the paper's own."""
        return [
            entry
            for entry in self.entries
            if entry.verdict in ("within", "above", "below")
            and rivals in (None, self.spec.model(entry.cell.model).is_rival)
        ]

    def within(self, entries: Sequence[Entry], deviations: float) -> int:
        """How many are at most so many published deviations (or the floor) from the paper."""
        points = self.spec.tolerance.points
        return sum(
            is_within(e.ours.mean, e.published, deviations, points)
            for e in entries
            if e.ours is not None and e.published is not None
        )

    def agreement(self) -> str:
        """Shares within one and two deviations, then the cells above and below, rivals named."""
        judged = self.judged()
        if not judged:
            run = sum(entry.result is not None for entry in self.entries)
            printed = any(entry.published is not None for entry in self.entries)
            why = "nothing to compare yet" if printed else "the paper prints no numbers"
            return f"{run} of {len(self.entries)} cells run; {why}."
        parts = [self.share_text(judged)]
        own, rivals = self.judged(rivals=False), self.judged(rivals=True)
        if own and rivals:
            parts += [f"the paper's own models {self.share_text(own, brief=True)}"]
            parts += [f"rivals {self.share_text(rivals, brief=True)}"]
        text = f"{'; '.join(parts)}. Above: {self.named(own, rivals, 'above')}. "
        return f"{text}Below: {self.named(own, rivals, 'below')}. Not run: {self.count('not run')}."

    def share_text(self, entries: Sequence[Entry], *, brief: bool = False) -> str:
        """How many cells lie within the paper's deviations, in words."""
        one, two, total = self.within(entries, 1.0), self.within(entries, 2.0), len(entries)
        if all(entry.published is None or entry.published.std is None for entry in entries):
            return f"{two} of {total} cells within {self.spec.tolerance.points:g} of the paper"
        if brief:
            return f"{one} and {two} of {total}"
        return f"{one} of {total} cells within one of the paper's deviations, {two} within two"

    def named(self, own: Sequence[Entry], rivals: Sequence[Entry], verdict: str) -> str:
        """ "2 of its own models, 3 of rivals (cora GCN, ...)", "none" where there are none."""
        mine = [entry for entry in own if entry.verdict == verdict]
        theirs = [entry for entry in rivals if entry.verdict == verdict]
        texts = [f"{len(mine)} of the paper's own"] if mine else []
        if theirs:
            names = ", ".join(self.cell_title(entry.cell) for entry in theirs)
            texts.append(f"{len(theirs)} of rivals ({names})")
        return ", ".join(texts) or "none"

    def cell_title(self, cell: Cell) -> str:
        """ "cora 5 % GCN"."""
        level = {"rate": f" {100 * cell.level:g} %", "steps": f" K={cell.level:g}"}
        return f"{cell.dataset}{level.get(self.spec.axis, '')} {self.spec.model(cell.model).title}"


def build_table(spec: StudySpec, folder: Path) -> Table:
    """The table of `spec` from the results in `folder`.

    >>> from pathlib import Path
    >>> from elasticgnn.experiment import load_spec
    >>> from elasticgnn.report import build_table
    >>> len(build_table(load_spec("table1"), Path("no-such-folder")).entries) > 0
    True
    """
    results = {cell: read_result(folder, spec, cell) for cell in cells(spec)}
    return Table(spec, tuple(build_entry(spec, cell, results) for cell in cells(spec)))


def build_entry(spec: StudySpec, cell: Cell, results: dict[Cell, CellResult | None]) -> Entry:
    """A cell with the paper's number, ours and the verdict."""
    published = spec.paper.get((cell.dataset, cell.model, cell.level))
    result = results[cell]
    if result is None or spec.metric == "objective":
        word = "not run" if result is None else "not in the paper"
        return Entry(cell, published, result, None, word, None)
    ours = summarize(result.metric(spec.metric))
    word = (
        "not in the paper" if published is None else verdict(ours.mean, published, spec.tolerance)
    )
    return Entry(cell, published, result, ours, word, paired_entry(spec, result, results))


def paired_entry(
    spec: StudySpec, result: CellResult, results: dict[Cell, CellResult | None]
) -> Summary | None:
    """The paired difference to the baseline of the same row, if both were run."""
    if spec.baseline is None or spec.baseline == result.cell.model:
        return None
    other = results.get(replace(result.cell, model=spec.baseline))
    if other is None or not are_comparable(result, other):
        return None
    return paired_runs(spec, result, other)


def are_comparable(one: CellResult, other: CellResult) -> bool:
    """Whether a difference is one of models: both tuned, or both at the same rates and dropout."""
    if (one.search == "fixed") != (other.search == "fixed"):
        return False
    return one.search != "fixed" or shared_setting(one) == shared_setting(other)


def shared_setting(result: CellResult) -> tuple[float, float, float]:
    """Learning rate, weight decay and dropout of the selected setting."""
    chosen = result.selected
    return chosen.learning_rate, chosen.weight_decay, chosen.dropout


def paired_runs(spec: StudySpec, result: CellResult, other: CellResult) -> Summary | None:
    """The summary of the differences over the runs that both have with the same split and seed."""
    partner = {(run.run, run.seed, run.split): run for run in other.runs}
    both = [run for run in result.runs if (run.run, run.seed, run.split) in partner]
    if not both:
        return None
    against = [partner[run.run, run.seed, run.split].metric(spec.metric) for run in both]
    return paired([run.metric(spec.metric) for run in both], against)
