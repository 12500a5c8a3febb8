"""A study: which cells, which search, which published numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import SearchPlan
from elasticgnn.experiment.spec_values import number
from elasticgnn.nn.settings import MODEL_NAMES

METRICS = ("accuracy", "ratio", "sparse", "objective")
DATA = ("benchmark", "attacked", "toy")
AXES = ("none", "rate", "steps")
DIVIDED = (True, False, "all")  # rows of features by their sum
LARGEST_FLOOR = 0.5


@dataclass(frozen=True)
class Tolerance:
    """A mean agrees if it is within `std` published deviations or `points`, whichever is wider.

    points is at most half a point: more would let the floor decide where the paper is precise.
    """

    std: float = 2.0
    points: float = 0.5

    def __post_init__(self) -> None:
        number(self.std, "std")
        if not 0 <= self.points <= LARGEST_FLOOR:
            raise ValueError(f"points must be in [0, {LARGEST_FLOOR}], got {self.points}")


@dataclass(frozen=True)
class ModelSpec:
    """One column of a table: a family of networks and the settings it may choose from."""

    name: str
    title: str
    family: str
    settings: tuple[Setting, ...]
    fixed: Setting
    group: str
    epoch: str = "selected"

    @property
    def is_rival(self) -> bool:
        """Whether it is one of the models that the paper compares its own with."""
        return self.family != "elastic"

    def __post_init__(self) -> None:
        if self.family not in MODEL_NAMES:
            raise ValueError(f"family must be one of {MODEL_NAMES}, got {self.family!r}")
        if self.epoch not in ("selected", "last"):
            raise ValueError(f"epoch must be 'selected' or 'last', got {self.epoch!r}")


@dataclass(frozen=True)
class Protocol:
    """What all trainings of a study share; `attack` is the digest of the flips applied first.

    normalize_features: whether rows of features are divided by their sum. True divides those of the
    citation graphs as published, "all" those of every data set.
    """

    data: str = "benchmark"
    normalize_features: bool | str = True
    hidden_channels: int = 64
    epochs: int = 500
    patience: int | None = None
    runs: int = 10
    seed: int = 0
    attack: str | None = None

    def __post_init__(self) -> None:
        if self.data not in DATA:
            raise ValueError(f"data must be one of {DATA}, got {self.data!r}")
        if self.normalize_features not in DIVIDED:
            given = self.normalize_features
            raise ValueError(f"normalize_features must be one of {DIVIDED}, got {given!r}")
        for name in ("hidden_channels", "epochs", "runs"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must be >= 0, got {self.seed}")

    @property
    def fingerprint(self) -> str:
        """Eight hex digits: trainings under another protocol are never mixed with these."""
        values = {name: value for name, value in asdict(self).items() if name != "runs"}
        if self.attack is None:
            del values["attack"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Published:
    """A number of the paper, with the deviation it prints (None: it prints none)."""

    mean: float
    std: float | None = None


@dataclass(frozen=True)
class Remark:
    """Why cells are as they are; no name of a kind means all of that kind."""

    text: str
    datasets: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()

    def is_about(self, dataset: str, level: float, model: str) -> bool:
        """Whether the remark belongs to this cell."""
        parts = ((self.datasets, dataset), (self.levels, level), (self.models, model))
        return all(not names or name in names for names, name in parts)


@dataclass(frozen=True)
class StudySpec:
    """One table or figure of the paper.

    >>> from elasticgnn.experiment import load_spec
    >>> load_spec("table1").protocol.runs
    10
    """

    name: str
    title: str
    metric: str
    unit: str
    pool: str
    protocol: Protocol
    datasets: tuple[str, ...]
    axis: str
    levels: tuple[float, ...]
    models: tuple[ModelSpec, ...]
    search: SearchPlan
    baseline: str | None
    tolerance: Tolerance
    paper: Mapping[tuple[str, str, float], Published] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    found: Mapping[tuple[str, str, float], Setting] = field(default_factory=dict)
    compare: str | None = None  # the model whose paired difference to the baseline a table shows
    searches: Mapping[str, SearchPlan] = field(default_factory=dict)  # of data sets with their own

    def search_on(self, dataset: str) -> SearchPlan:
        """How settings are searched on a data set."""
        return self.searches.get(dataset, self.search)

    def searched_by(self, method: str) -> StudySpec:
        """The study with another method of search on all its data sets."""
        own = {name: replace(plan, method=method) for name, plan in self.searches.items()}
        return replace(self, search=replace(self.search, method=method), searches=own)

    def model(self, name: str) -> ModelSpec:
        """The model of that name; ValueError lists those there are."""
        for model in self.models:
            if model.name == name:
                return model
        raise ValueError(f"model must be one of {[m.name for m in self.models]}, got {name!r}")

    def restricted(self, datasets: tuple[str, ...] = (), models: tuple[str, ...] = ()) -> StudySpec:
        """The study on some data sets and models only; no name means all."""
        unknown = sorted(set(datasets) - set(self.datasets))
        if unknown:
            raise ValueError(f"dataset must be one of {self.datasets}, got {unknown}")
        return replace(
            self,
            datasets=datasets or self.datasets,
            models=tuple(self.model(name) for name in models) or self.models,
        )
