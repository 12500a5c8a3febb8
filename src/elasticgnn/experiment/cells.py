"""Cells of a study, and the groups of cells that share their trainings."""

from __future__ import annotations

from dataclasses import dataclass

from elasticgnn.experiment.space import SearchPlan
from elasticgnn.experiment.spec import ModelSpec, StudySpec


@dataclass(frozen=True, order=True)
class Cell:
    """One number of a table: a model on a data set at a level of the study's axis.

    >>> from elasticgnn.experiment import Cell
    >>> Cell("cora", 0.0, "elastic").file_name
    'cora-0-elastic.json'
    """

    dataset: str
    level: float
    model: str

    @property
    def file_name(self) -> str:
        """The name of the cell's result file."""
        return f"{self.dataset}-{self.level:g}-{self.model}.json"

    @property
    def label(self) -> str:
        """Data set, level and model in one line."""
        return f"{self.dataset} {self.level:g} {self.model}"


@dataclass(frozen=True)
class CellGroup:
    """Cells that draw on one set of trials: the same family, data set and level."""

    study: StudySpec
    dataset: str
    level: float
    group: str
    models: tuple[ModelSpec, ...]

    @property
    def trials_name(self) -> str:
        """The name under which the storage knows these trials."""
        mark = self.study.protocol.fingerprint
        return f"{self.study.pool}/{self.dataset}/{self.level:g}/{self.group}/{mark}"

    @property
    def search(self) -> SearchPlan:
        """How the settings of these cells are searched."""
        return self.study.search_on(self.dataset)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that share these trainings, one per model."""
        return tuple(Cell(self.dataset, self.level, model.name) for model in self.models)


def cells(spec: StudySpec) -> tuple[Cell, ...]:
    """Every cell of the study, data set by data set.

    >>> from elasticgnn.experiment import cells, load_spec
    >>> cells(load_spec("table1"))[-1].label
    'photo 0 elastic'
    """
    return tuple(cell for group in cell_groups(spec) for cell in group.cells)


def cell_groups(spec: StudySpec) -> tuple[CellGroup, ...]:
    """Every group of the study: data sets outermost, then levels, then models."""
    names = tuple(dict.fromkeys(model.group for model in spec.models))
    return tuple(
        CellGroup(spec, dataset, level, name, tuple(m for m in spec.models if m.group == name))
        for dataset in spec.datasets
        for level in spec.levels
        for name in names
    )
