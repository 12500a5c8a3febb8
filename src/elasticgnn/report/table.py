"""A study's table: ours beside the paper's, from stored results alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from elasticgnn.experiment import Summary, summarize
from elasticgnn.experiment.cells import Cell, cells
from elasticgnn.experiment.results import CellResult, read_result
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.spec import Published, StudySpec
from elasticgnn.report.statistics import paired, verdict


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
    """All cells of a study that have a published number or a result."""

    spec: StudySpec
    entries: tuple[Entry, ...]

    def entry(self, dataset: str, level: float, model: str) -> Entry:
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

    def setting_label(self, cell: Cell, setting: Setting) -> str:
        """The setting in words, without what the cell's model ignores."""
        family = self.spec.model(cell.model).family
        return setting.label(elastic=family in ("elastic", "appnp"))

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
        return sum(entry.verdict in verdicts for entry in self.entries)

    def agreement(self) -> str:
        """One sentence: how many of the cells run agree with the paper or beat it."""
        judged = self.count("within", "above", "below")
        if not judged:
            run = sum(entry.result is not None for entry in self.entries)
            return f"{run} of {len(self.entries)} cells run; the paper prints no numbers."
        good = self.count("within", "above")
        return (
            f"{good} of {judged} cells run agree with the paper or are above it "
            f"({self.count('within')} within, {self.count('above')} above, "
            f"{self.count('below')} below); {self.count('not run')} not run."
        )


def build_table(spec: StudySpec, folder: Path) -> Table:
    """The table of `spec` from the results in `folder`."""
    results = {cell: read_result(folder, spec, cell) for cell in cells(spec)}
    return Table(spec, tuple(build_entry(spec, cell, results) for cell in cells(spec)))


def build_entry(spec: StudySpec, cell: Cell, results: dict[Cell, CellResult | None]) -> Entry:
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
    return None if other is None else paired_runs(spec, result, other)


def paired_runs(spec: StudySpec, result: CellResult, other: CellResult) -> Summary | None:
    """The summary of the differences over the runs that both have with the same split and seed."""
    partner = {(run.run, run.seed, run.split): run for run in other.runs}
    both = [run for run in result.runs if (run.run, run.seed, run.split) in partner]
    if not both:
        return None
    against = [partner[run.run, run.seed, run.split].metric(spec.metric) for run in both]
    return paired([run.metric(spec.metric) for run in both], against)
