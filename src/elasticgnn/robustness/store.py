"""One row per attack, stored as it is found: an interrupted comparison goes on where it was."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from elasticgnn.attack import Perturbation

Key = tuple[str, int, float, str, str, str]


@dataclass(frozen=True)
class Row:
    """What every model keeps under one list of flips.

    source: the model that the flips were found through ("" where none was), route: which of its
    neighbours; accuracy by model, of the attacked nodes. Rate 0 is the clean graph.
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


class Rows:
    """The rows so far, and their file if there is one: a JSON object per line."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.known: dict[Key, Row] = {}
        if path is not None and path.exists():
            self.known = {row.key: row for row in read_rows(path)}
            text = path.read_text()
            if text and not text.endswith("\n"):  # an interrupted line: the next begins anew
                with path.open("a") as file:
                    file.write("\n")

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
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(row)) + "\n")

    def rows(self) -> tuple[Row, ...]:
        """All rows known so far."""
        return tuple(self.known.values())


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file; a last line that an interruption cut off is left out."""
    for line in path.read_text().splitlines():
        try:
            yield Row(**json.loads(line))
        except (ValueError, TypeError):
            continue
