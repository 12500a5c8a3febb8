"""One row per attack, stored as it is found: an interrupted comparison goes on where it was."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from elasticgnn.attack import Perturbation
from elasticgnn.files import append_line

OTHER_KINDS = ("features", "labels")  # of flips: words at prediction, training labels
Key = tuple[str, int, float, str, str, str]


@dataclass(frozen=True)
class Row:
    """What every model keeps under one list of flips.

    source: the model that the flips were found through ("" where none was), route: which of its
    neighbours; accuracy by model, of the attacked nodes, none where the model handed back no
    gradient. seconds: processor time of the search and of what followed. Rate 0 is the clean graph,
    with the processor time of every training.
    """

    protocol: str
    seed: int
    rate: float
    attack: str
    source: str
    route: str
    accuracy: dict[str, float] = field(compare=False)
    flips: int = field(default=0, compare=False)
    seconds: float = field(default=0.0, compare=False)
    training: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> Key:
        """What tells the row from all others."""
        return self.protocol, self.seed, self.rate, self.attack, self.source, self.route

    @property
    def file_name(self) -> str:
        """Of its flips: attack, source, route, rate in per cent and seed."""
        parts = (self.attack, self.source, self.route, f"{100 * self.rate:g}", str(self.seed))
        words = (re.sub(r"[^\w.+-]+", "_", part) for part in parts if part)
        return "-".join(words) + ".json"


REQUIRED = {one.name for one in fields(Row) if one.default is one.default_factory is MISSING}
ALLOWED = {one.name for one in fields(Row)}
COUNT, NUMBER, TEXT = "whole number >= 0", "finite number >= 0", "text"
KINDS = {
    **dict.fromkeys(("protocol", "attack", "source", "route"), TEXT),
    **{"seed": COUNT, "flips": COUNT, "rate": NUMBER, "seconds": NUMBER},
    "accuracy": "shares between 0 and 1 by model",
    "training": "finite numbers >= 0 by model",
}


class Rows:
    """The rows so far, and their file if there is one: a JSON object per line."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.known: dict[Key, Row] = {}
        if path is not None and path.exists():
            self.known = {row.key: row for row in read_rows(path)}

    def __contains__(self, key: Key) -> bool:
        return key in self.known

    def add(self, row: Row, flips: Perturbation | None = None) -> None:
        """Keeps a row and writes it at once, after the flips it tells of."""
        self.known[row.key] = row
        if self.path is not None:
            if flips is not None:
                folder = self.path.with_suffix("")
                folder.mkdir(exist_ok=True)
                flips.save(folder / row.file_name)
            append_line(self.path, json.dumps(asdict(row)))

    def rows(self) -> tuple[Row, ...]:
        """All rows known so far."""
        return tuple(self.known.values())


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file; lines that interruptions cut off are left out."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a file of rows in UTF-8, got: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        except (ValueError, RecursionError) as error:  # numbers or brackets without end
            raise ValueError(f"line {number} of {path} must be a row, got: {error}") from error
        yield checked_row(found, f"line {number} of {path}")


def checked_row(found: Any, place: str) -> Row:
    """The row of a line, whose values are what they can be."""
    if not isinstance(found, dict) or not REQUIRED <= found.keys() <= ALLOWED:
        raise ValueError(f"{place} must be a row with {sorted(REQUIRED)}, got other keys")
    accuracy, training = found["accuracy"], found.get("training", {})
    good = {
        **{
            name: isinstance(found[name], str) for name in ("protocol", "attack", "source", "route")
        },
        **{name: is_count(found.get(name, 0)) for name in ("seed", "flips")},
        **{name: is_number(found.get(name, 0.0)) for name in ("rate", "seconds")},
        "accuracy": isinstance(accuracy, dict)
        and all(is_number(value) and value <= 1 for value in accuracy.values()),
        "training": isinstance(training, dict) and all(map(is_number, training.values())),
    }
    for name in (name for name, is_good in good.items() if not is_good):
        raise ValueError(f"{name} in {place} must be a row's {KINDS[name]}, got {found[name]!r}")
    return Row(**found)


def is_count(value: Any) -> bool:
    """Whether a value is a whole number, 0 or more."""
    return type(value) is int and value >= 0


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, 0 or more."""
    return type(value) in (int, float) and 0 <= value < math.inf
