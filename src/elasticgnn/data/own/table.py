"""Rows of text cells out of CSV, TSV and Parquet files; errors name the row."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elasticgnn.data.own.sheet import FREE_CELLS, SHEETS, read_sheet
from elasticgnn.data.own.text import (
    DELIMITERS,
    EXCEL_SIGN,
    find_delimiter,
    pointed_thousands,
    read_text,
    table_ending,
    with_decimal_points,
    without_comments,
)
from elasticgnn.extras import optional_imports
from elasticgnn.files import first_line

if TYPE_CHECKING:
    import pyarrow

NEO4J_ROLES = {"start_id": "source", "end_id": "target", "id": "id", "label": "label"}
NEO4J_TYPES = ("int", "long", "float", "double", "boolean", "byte", "short", "string")
MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "?"})
SPACE = re.compile(r"[^\S\n]")  # white space besides line ends
SHOWN = 40  # characters of a bad cell that a message repeats


@dataclass(frozen=True)
class Table:
    """Equally long rows of stripped text; header is None when the first row is data.

    line[k] is the row number of rows[k] as an editor shows it (the header counts).
    """

    path: Path
    header: tuple[str, ...] | None
    rows: list[list[str]]
    line: Sequence[int]
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0] if self.header is None else self.header)

    def column_name(self, position: int) -> str:
        """The header's name of a column, else its number counted from 1."""
        return repr(short(self.header[position])) if self.header else str(position + 1)

    def error(self, row: int, position: int, rule: str) -> ValueError:
        """What is wrong with one cell: file, row, column, rule and content."""
        where = f"{self.path}, row {self.line[row]}, column {self.column_name(position)}"
        return ValueError(f"{where}: {rule}, got {short(self.rows[row][position])!r}")


def short(text: str) -> str:
    """The text, cut where a message would become too long."""
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def is_missing(cell: str) -> bool:
    """Whether the cell spells a missing value."""
    return cell.lower() in MISSING


def is_number(cell: str) -> bool:
    """Whether the cell spells a number; Python's own 1_000 is none to other programs."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def check_path(path: Path) -> None:
    """Refuses what is not a file with something in it."""
    if path.is_dir():
        raise ValueError(f"{path} must be a file, got a folder")
    if not path.exists():
        raise ValueError(f"{path} must be a file, got nothing of that name")
    if path.stat().st_size == 0:
        raise ValueError(f"{path} must have rows, got an empty file")


def read_lines(path: Path, encoding: str | None = None) -> Table:
    """All lines of a CSV, TSV, Excel or Parquet file; a Parquet file's names are its header."""
    ending = table_ending(path)
    if ending == ".parquet":
        return read_parquet(path)
    if ending in SHEETS:
        rows, line, notes = read_sheet(path)
        check_widths(path, rows, line)
        return Table(path, None, rows, line, notes)
    text, notes = read_text(path, encoding)
    text = without_comments(text) if ending == ".txt" else text
    delimiter = find_delimiter(text, DELIMITERS[ending])
    first = text.split("\n", 1)[0].strip(" \r")
    text = "\n" + text.partition("\n")[2] if EXCEL_SIGN.fullmatch(first) else text
    rows, line = split_text(path, text, delimiter)
    if not rows:
        raise ValueError(f"{path} must have rows, got only blank lines")
    if delimiter == ";":
        doubtful = pointed_thousands(rows)
        if doubtful is not None:
            reading = f"{doubtful!r} is read as {float(doubtful):g}: a point is a decimal point"
            notes = (*notes, f"{path.name}: {reading}")
        rows = with_decimal_points(rows)
    return Table(path, None, rows, line, notes)


def split_text(path: Path, text: str, delimiter: str) -> tuple[list[list[str]], list[int]]:
    """Cells of the lines that are not blank, and their row numbers; all equally many."""
    rows: list[list[str]] = []
    line: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                rows.append(cells)
                line.append(reader.line_num)
    except csv.Error as error:
        row = reader.line_num
        raise ValueError(f"{path}, row {row}: must be plain CSV, got: {error}") from None
    check_last_quote(path, text, rows, line)
    check_widths(path, rows, line, delimiter)
    if SPACE.search(text):
        rows = [[cell.strip() for cell in cells] for cells in rows]
    return rows, line


def check_last_quote(path: Path, text: str, rows: list[list[str]], line: list[int]) -> None:
    """Refuses a quote that nothing closes: all rows behind it would be one cell."""
    cell = rows[-1][-1] if rows and rows[-1] else ""
    if ("\n" in cell or "\r" in cell) and text.endswith(cell[-20:]):
        first = short(cell.splitlines()[0])
        row = line[-2] + 1 if len(line) > 1 else 1  # those of `line` are where a row ends
        raise ValueError(f"{path}, row {row}: a quote must be closed, got one before {first!r}")


def check_widths(
    path: Path, rows: list[list[str]], line: list[int], delimiter: str | None = None
) -> None:
    """Refuses one column, and rows that are longer or shorter than the first."""
    widths = list(map(len, rows))
    expected = widths[0] if widths else 2
    if expected == 1:
        names = {",": "separated by commas", "\t": "separated by tabs"}
        names[";"] = "separated by semicolons"
        rule = names[delimiter] if delimiter else "two or more in the sheet"
        raise ValueError(
            f"{path}, row {line[0]}: columns must be {rule}, got one column {short(rows[0][0])!r}"
        )
    row = next((row for row, width in enumerate(widths) if width != expected), None)
    if row is not None:
        raise ValueError(
            f"{path}, row {line[row]}: must have {expected} columns like row {line[0]}, "
            f"got {widths[row]}"
        )


def open_parquet(path: Path, *, coded: Sequence[str] = ()) -> pyarrow.Table:
    """The typed columns of a Parquet file that has rows; needs pyarrow.

    coded: columns whose text is wanted as numbered words, which is how most files store it.
    """
    try:
        with optional_imports():
            from pyarrow import ArrowException, parquet
    except ImportError:
        raise ValueError(f"{path} needs pyarrow: pip install 'elasticgnn[data]'") from None
    try:
        about = parquet.read_metadata(path)
        check_cells(path, about)
        check_names(str(path), about.schema.to_arrow_schema().names)
        # not mapped, which saves nothing measurable (2.3 s of either kind for 64 MB): a mapped file
        # that someone cuts off meanwhile would end the process by SIGBUS instead of an error
        content = parquet.read_table(path, read_dictionary=list(coded), memory_map=False)
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} must be a Parquet file, got: {first_line(error)}") from None
    if content.num_rows == 0:
        raise ValueError(f"{path} must have rows, got none")
    check_single_values(path, content)
    return content


def check_single_values(path: Path, content: pyarrow.Table) -> None:
    """Refuses columns whose cells hold several values, such as the numbers of an embedding."""
    with optional_imports():
        from pyarrow import types

    for field in content.schema:
        if types.is_nested(field.type):
            raise ValueError(
                f"{path}, column {short(field.name)!r}: a cell must hold one value (give each "
                f"part a column of its own), got {short(str(field.type))}"
            )


def read_parquet(path: Path) -> Table:
    """The columns of a Parquet file as text."""
    content = open_parquet(path)
    columns = [[cell_text(cell) for cell in column.to_pylist()] for column in content.columns]
    rows = [list(cells) for cells in zip(*columns, strict=True)]
    return Table(path, tuple(content.column_names), rows, range(1, len(rows) + 1))


def check_cells(path: Path, about: Any) -> None:
    """Refuses a file whose few bytes stand for more cells than the memory should take."""
    cells = about.num_rows * about.num_columns
    if cells > max(FREE_CELLS, path.stat().st_size):
        raise ValueError(f"{path} must have no more cells than bytes, got {cells}")


def cell_text(cell: Any) -> str:
    """A typed cell as the text a CSV file would hold; whole numbers without a point."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="backslashreplace").strip()
    return str(cell).strip()


def with_header(table: Table, is_header: bool) -> Table:
    """The table with its first line taken as column names, when it is that."""
    if table.header is not None or not is_header:
        return table
    if len(table.rows) == 1:
        raise ValueError(f"{table.path} must have rows below the header, got none")
    header, line = tuple(map(plain_name, table.rows[0])), list(table.line[1:])
    check_names(f"{table.path}, row {table.line[0]}", header)
    return without_header_rows(table, Table(table.path, header, table.rows[1:], line, table.notes))


def check_names(where: str, header: Sequence[str]) -> None:
    """Refuses two columns of one name."""
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        raise ValueError(f"{where}: column names must differ, got {short(min(repeated))!r} twice")


def without_header_rows(whole: Table, table: Table) -> Table:
    """The table without rows that repeat the header, as files put one behind the other have."""
    again = {row for row, cells in enumerate(table.rows) if cells == whole.rows[0]}
    if not again or len(again) == len(table.rows):
        return table
    kept = [row for row in range(len(table.rows)) if row not in again]
    note = f"{table.path.name}: row {table.line[min(again)]} repeats the header and is left out"
    more = f" ({len(again) - 1} more)" if len(again) > 1 else ""
    rows, line = [table.rows[row] for row in kept], [table.line[row] for row in kept]
    return Table(table.path, table.header, rows, line, (*table.notes, note + more))


def plain_name(name: str) -> str:
    """A column name without the marks of Neo4j's import files (id:ID, :START_ID, age:int)."""
    before, colon, mark = name.partition(":")
    kind = mark.partition("(")[0].lower()
    if colon and kind in NEO4J_ROLES:
        return NEO4J_ROLES[kind]
    return before if colon and before and kind.removesuffix("[]") in NEO4J_TYPES else name
