"""Results on disk: one JSON file per cell and per split, written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elasticgnn.experiment.cells import Cell
from elasticgnn.experiment.flips import AttackRecord
from elasticgnn.experiment.record import RunRecord
from elasticgnn.experiment.setting import Setting
from elasticgnn.experiment.space import SearchPlan
from elasticgnn.experiment.spec import Protocol, StudySpec
from elasticgnn.files import write_whole

FORMAT = 1
CANDIDATE_NUMBERS = ("runs", "val", "test", "processor_seconds")


@dataclass(frozen=True)
class Candidate:
    """A setting that the search tried: mean accuracies (shares) over its runs, and their cost."""

    setting: Setting
    runs: int
    val: float
    test: float
    processor_seconds: float | None = None  # of all its runs; the first results do not say it


@dataclass(frozen=True)
class CellResult:
    """Everything that is kept of one cell.

    >>> from pathlib import Path
    >>> from elasticgnn.experiment import cells, load_spec, read_result
    >>> spec = load_spec("table1")
    >>> read_result(Path("no-such-folder"), spec, cells(spec)[0]) is None
    True
    """

    pool: str
    cell: Cell
    protocol: Protocol
    search: str
    selected: Setting
    runs: tuple[RunRecord, ...]
    candidates: tuple[Candidate, ...]
    environments: tuple[Mapping[str, str], ...]
    attack: AttackRecord | None = None
    rule: SearchPlan | None = None  # of a halving; the first results do not name it

    def metric(self, name: str) -> list[float]:
        """The metric of each run, in the order of the runs."""
        return [record.metric(name) for record in self.runs]

    def to_json(self) -> dict[str, Any]:
        """The result as values for JSON."""
        return {
            "format": FORMAT,
            "pool": self.pool,
            "cell": asdict(self.cell),
            "protocol": asdict(self.protocol),
            **({} if self.attack is None else {"attack": asdict(self.attack)}),
            "search": self.search,
            **({} if self.rule is None else {"rule": self.rule.to_json()}),
            "selected": self.selected.to_json(),
            "environments": [dict(environment) for environment in self.environments],
            "candidates": [candidate_row(candidate) for candidate in self.candidates],
            "runs": [record.to_json() for record in self.runs],
        }

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> CellResult:
        """The result from what `to_json` gave; ValueError for another format."""
        if table.get("format") != FORMAT:
            raise ValueError(f"result must have format {FORMAT}, got {table.get('format')!r}")
        return cls(
            pool=table["pool"],
            cell=Cell(**table["cell"]),
            protocol=Protocol(**table["protocol"]),
            search=table["search"],
            selected=Setting.from_json(table["selected"]),
            runs=tuple(RunRecord.from_json(run) for run in table["runs"]),
            candidates=tuple(read_candidate(row) for row in table["candidates"]),
            environments=tuple(table["environments"]),
            attack=AttackRecord(**table["attack"]) if "attack" in table else None,
            rule=SearchPlan.from_json(table["rule"]) if "rule" in table else None,
        )


def candidate_row(candidate: Candidate) -> dict[str, Any]:
    """A candidate as one flat row."""
    numbers = {name: getattr(candidate, name) for name in CANDIDATE_NUMBERS}
    known = {name: value for name, value in numbers.items() if value is not None}
    return {**candidate.setting.to_json(), **known}


def read_candidate(row: Mapping[str, Any]) -> Candidate:
    """The candidate of a row that `candidate_row` made."""
    setting = {name: value for name, value in row.items() if name not in CANDIDATE_NUMBERS}
    numbers = {name: row[name] for name in CANDIDATE_NUMBERS if name in row}
    return Candidate(Setting.from_json(setting), **numbers)


def result_path(folder: Path, spec: StudySpec, cell: Cell) -> Path:
    """Where the result of a cell is stored."""
    return folder / spec.pool / cell.file_name


def write_result(folder: Path, spec: StudySpec, result: CellResult) -> Path:
    """The file of a cell, replaced in one step."""
    path = result_path(folder, spec, result.cell)
    write_whole(path, dump_rows(result.to_json()), make_folder=True)
    return path


def read_result(folder: Path, spec: StudySpec, cell: Cell) -> CellResult | None:
    """The stored result of a cell, None if there is none.

    >>> from pathlib import Path
    >>> from elasticgnn.experiment import cells, load_spec, read_result
    >>> spec = load_spec("table1")
    >>> read_result(Path("no-such-folder"), spec, cells(spec)[0]) is None
    True
    """
    path = result_path(folder, spec, cell)
    if not path.is_file():
        return None
    try:
        return CellResult.from_json(json.loads(path.read_text("utf-8")))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be a stored result, got {error!r}") from None


def write_split(folder: Path, dataset: str, fingerprint: str, packed: str) -> None:
    """The roles of all nodes in one split (see `unpack_split`); equal splits are one file."""
    path = folder / "splits" / f"{dataset}-{fingerprint}.json"
    if not path.exists():
        table = {"dataset": dataset, "fingerprint": fingerprint, "roles": packed}
        write_whole(path, json.dumps(table) + "\n", make_folder=True)


def dump_rows(table: Mapping[str, Any]) -> str:
    """JSON with one line per key, and one per element of a list of objects."""
    lines = []
    for name, value in table.items():
        if isinstance(value, list) and value:
            rows = ",\n".join(json.dumps(row, allow_nan=False) for row in value)
            lines.append(f"{json.dumps(name)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
