"""Columns of any table as numbers or as words; what cannot be either is named by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.own.table import Table, cell_text, is_missing, is_number, short
from elasticgnn.extras import optional_imports

if TYPE_CHECKING:
    import pyarrow

LARGEST = float(np.finfo(np.float32).max)
MONTH = r"(jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zä]{0,6}\.?"
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2})?([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
    rf"|\d{{1,2}}\.?[-/ ]?{MONTH}[-/ ,]{{1,2}}\d{{2,4}}|{MONTH}[-/ ]\d{{1,2}},? \d{{4}}"
    rf"|{MONTH}[-/ ](19|20)\d\d",
    re.IGNORECASE,
)
WRITTEN_OUT = re.compile(
    r"[-+]?\d{1,3}([, '\u00a0_]\d{3})+(\.\d+)?|[-+]?\d{1,3}(\.\d{3})+(,\d+)?"
    r"|[$€£]?\s?[-+]?\d+([.,]\d+)?\s?(%|‰|[$€£])?"
)
TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "1": 1.0, "0": 0.0}
Numbers = NDArray[np.floating[Any]]


class Columns(Protocol):
    """The columns of a file, each asked for by its position."""

    path: Path
    names: tuple[str, ...] | None
    count: int  # of rows

    def numbers(self, position: int) -> Numbers | None:
        """The column as numbers, NaN where empty; None where it holds words."""

    def words(self, position: int) -> list[str]:
        """The column as text, empty where missing."""

    def refuse(self, row: int, position: int, rule: str) -> ValueError:
        """What is wrong with one cell."""


class TextColumns:
    """The columns of a table of text cells."""

    def __init__(self, table: Table) -> None:
        self.table, self.path = table, table.path
        self.names, self.count = table.header, len(table.rows)

    def words(self, position: int) -> list[str]:
        """The column as text, empty where missing."""
        cells = (cells[position] for cells in self.table.rows)
        return ["" if is_missing(cell) else cell for cell in cells]

    def numbers(self, position: int) -> Numbers | None:
        """The column as numbers, NaN where empty; None where it holds words."""
        cells = self.words(position)
        if any("_" in cell for cell in cells):  # numpy reads 1_000 as 1000, pyarrow does not
            return self.numbers_or_words(cells, position)
        try:
            return np.array([cell or "nan" for cell in cells], dtype=np.float64)
        except ValueError:
            return self.numbers_or_words(cells, position)

    def numbers_or_words(self, cells: list[str], position: int) -> Numbers | None:
        """What a column with words is: truth values, words, or numbers with a slip in them."""
        known = [cell for cell in cells if cell]
        if all(cell.lower() in TRUTH for cell in known):
            return np.array([TRUTH.get(cell.lower(), np.nan) for cell in cells])
        strange = [row for row, cell in enumerate(cells) if cell and not is_number(cell)]
        if all(DATE.fullmatch(cells[row]) for row in strange):
            raise self.refuse(strange[0], position, DATES)
        if all(WRITTEN_OUT.fullmatch(cells[row]) for row in strange):
            rule = "a number must be written without separators or units"
            raise self.refuse(strange[0], position, rule)
        if 2 * len(strange) < len(known):
            raise self.refuse(strange[0], position, "a feature must be a finite number")
        return None

    def refuse(self, row: int, position: int, rule: str) -> ValueError:
        """What is wrong with one cell."""
        return self.table.error(row, position, rule)


DATES = "a date must be given as a number (such as days since a fixed day, or the year)"


class ArrowColumns:
    """The typed columns of a Parquet file, or of a CSV file that pyarrow has read."""

    def __init__(self, path: Path, table: pyarrow.Table, first_row: int = 1) -> None:
        self.path, self.table, self.first_row = path, table, first_row
        self.names: tuple[str, ...] | None = tuple(table.column_names)
        self.count = table.num_rows

    def words(self, position: int) -> list[str]:
        """The column as text, empty where missing."""
        texts = column_texts(self.table.column(position))
        return ["" if is_missing(text) else text for text in texts]

    def numbers(self, position: int) -> Numbers | None:
        """The column as numbers, NaN where empty; None where it holds words."""
        with optional_imports():
            import pyarrow

        column = self.table.column(position)
        kind = column.type
        if column.null_count == len(column):
            return np.full(self.count, np.nan)
        if pyarrow.types.is_temporal(kind):
            row = next(k for k, cell in enumerate(column) if cell.is_valid)
            raise self.refuse(row, position, DATES)
        if pyarrow.types.is_boolean(kind):
            column = column.cast("int8")
        elif not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
            return self.numbers_of_text(position)
        values: Numbers = column.to_numpy()
        return values

    def numbers_of_text(self, position: int) -> Numbers | None:
        """A column of text, which may be of numbers after all."""
        rows = [[text] for text in self.words(position)]
        header = None if self.names is None else (self.names[position],)
        line = range(self.first_row, self.first_row + self.count)
        return TextColumns(Table(self.path, header, rows, line)).numbers(0)

    def refuse(self, row: int, position: int, rule: str) -> ValueError:
        """What is wrong with one cell."""
        cell = short(cell_text(self.table.column(position)[row].as_py()))
        name = "" if self.names is None else repr(short(self.names[position]))
        where = f"{self.path}, row {self.first_row + row}, column {name or position + 1}"
        return ValueError(f"{where}: {rule}, got {cell!r}")


def column_texts(column: pyarrow.ChunkedArray) -> list[str]:
    """The cells of a column as the text a CSV file would hold."""
    with optional_imports():
        import pyarrow

    if pyarrow.types.is_integer(column.type) and column.null_count == 0:
        return list(map(str, column.to_pylist()))
    return [cell_text(cell) for cell in column.to_pylist()]


def coded_texts(column: pyarrow.ChunkedArray) -> tuple[list[str], NDArray[np.integer[Any]]]:
    """The different cells of a column as text, and the place of each row's among them (n,)."""
    with optional_imports():
        import pyarrow

    is_coded = pyarrow.types.is_dictionary(column.type)
    coded = column if is_coded else column.dictionary_encode()
    coded = coded.unify_dictionaries().combine_chunks()
    coded = coded.combine_chunks() if isinstance(coded, pyarrow.ChunkedArray) else coded
    words = [cell_text(word) for word in coded.dictionary.to_pylist()]
    if not coded.null_count:
        return words, coded.indices.to_numpy()
    return [*words, ""], coded.indices.fill_null(len(words)).to_numpy()


def ends_of(values: Numbers) -> tuple[float, float] | None:
    """The least and the largest value, NaN where one is missing; None of what float32 holds."""
    if values.dtype in (np.float16, np.float32):
        return None
    return float(values.min()), float(values.max())


def all_finite(values: Numbers, ends: tuple[float, float] | None) -> bool:
    """Whether float32 holds each value; in doubt False, which is quicker than to look at each."""
    if ends is not None:
        return ends[1] <= LARGEST and ends[0] >= -LARGEST
    with np.errstate(over="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float32)))


def check_finite(columns: Columns, values: Numbers, position: int) -> None:
    """Refuses infinity and what float32 cannot hold; NaN is a missing value."""
    beyond = np.flatnonzero(np.abs(values.astype(np.float64)) > LARGEST)  # halves hold no LARGEST
    if beyond.size:
        raise columns.refuse(int(beyond[0]), position, "a feature must be a finite number")


def counts_rows(columns: Columns, position: int) -> bool:
    """Whether the cells are 0, 1, 2, … or 1, 2, 3, …"""
    try:
        values = columns.numbers(position)
    except ValueError:
        return False
    if values is None or np.isnan(values[0]) or values[0] not in (0, 1):
        return False
    return bool(np.array_equal(values, np.arange(len(values)) + values[0]))


def numbers_rows(columns: Columns, position: int) -> bool:
    """Whether the cells are whole numbers that all differ, as those of rows of a longer table."""
    try:
        values = columns.numbers(position)
    except ValueError:
        return False
    if values is None or not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return bool(values.min() >= 0) and len(np.unique(values)) == len(values)


def codes_of(words: Sequence[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """A number for each word (n,), -1 where it is missing, and the words in order."""
    listed = tuple(sorted({word for word in words if word}))
    number = {word: place for place, word in enumerate(listed)}
    return np.array([number.get(word, -1) for word in words], dtype=np.int64), listed
