"""The first filled sheet of an Excel workbook as rows of cells."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from elasticgnn.data.npy import DAMAGE
from elasticgnn.data.npz import UNPACKED_TIMES
from elasticgnn.extras import optional_imports

SHEETS = (".xlsx", ".xlsm")
MOST_ROWS = 1 << 20  # of Excel itself
FREE_CELLS = 2_000_000  # of a table, whatever the size of its file
FORMULA = re.compile(rb"<c ([^>]*)><f[^>]*(?:/>|>[^<]*</f>)(?:<v ?/>|<v></v>)?</c>")
PLACE = re.compile(rb'r="([A-Z]+[0-9]+)"')
FREELY_UNPACKED = 40 << 20  # bytes of XML, which become three times as much in memory


def read_sheet(path: Path) -> tuple[list[list[str]], list[int], tuple[str, ...]]:
    """Rows that are not blank, all as wide as the widest, their row numbers, and notes."""
    rows, line, notes = read_cells(path)
    return [[sheet_text(cell) for cell in cells] for cells in rows], line, notes


def read_cells(path: Path) -> tuple[list[list[Any]], list[int], tuple[str, ...]]:
    """The same with the values that Excel knows: text, numbers, dates, None."""
    with optional_imports():
        import openpyxl

    try:
        check_unpacked(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        found = first_filled(path, book.worksheets)
        names = book.sheetnames
        book.close()
    except (*DAMAGE, AttributeError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise ValueError(f"{path} must be an Excel workbook, got: {reason}") from None
    if found.uncomputed:
        raise ValueError(
            f"{path}, sheet {found.name!r}, cell {found.uncomputed}: a formula without its value, "
            "as of a program that does not calculate (save it in Excel or LibreOffice first)"
        )
    if not found.rows:
        several = f"only empty sheets {', '.join(map(repr, names[:5]))}"
        what = several if len(names) > 1 else f"an empty sheet {names[0]!r}"
        raise ValueError(f"{path} must have rows, got {what}")
    return found.rows, found.line, sheet_notes(path, found.name, names)


def sheet_notes(path: Path, name: str, names: list[str]) -> tuple[str, ...]:
    """Which one of several sheets is read."""
    if len(names) == 1:
        return ()
    if name == names[0]:
        return (f"{path.name}: only the first of {len(names)} sheets is read, {name!r}",)
    return (f"{path.name}: sheet {name!r} is read, the first of {len(names)} that has cells",)


@dataclass(frozen=True)
class Sheet:
    """Rows that are not blank with their numbers; a cell whose formula has no value, if any."""

    name: str
    rows: list[list[Any]]
    line: list[int]
    uncomputed: str


def first_filled(path: Path, sheets: list[Any]) -> Sheet:
    """The first sheet with cells, or with formulas that would give some; else the last one."""
    most = max(FREE_CELLS, path.stat().st_size)
    found = Sheet("", [], [], "")
    for sheet in sheets:
        rows, line = filled_rows(sheet, most)
        has_blanks = not rows or any(None in row for row in rows)
        found = Sheet(sheet.title, rows, line, uncomputed(path, sheet) if has_blanks else "")
        if found.rows or found.uncomputed:
            break
    return found


def uncomputed(path: Path, sheet: Any) -> str:
    """A cell with a formula and no value, as programs write it that do not calculate; else "".

    Where Excel has computed an empty text, the cell is one of text.
    """
    part = getattr(sheet, "_worksheet_path", None)
    if part is None:
        return ""
    with zipfile.ZipFile(path) as archive:
        content = archive.read(part)
    cells = (cell[1] for cell in FORMULA.finditer(content))
    place = next((PLACE.search(cell) for cell in cells if b't="str"' not in cell), None)
    return "" if place is None else place[1].decode()


def check_unpacked(path: Path) -> None:
    """Refuses a workbook whose parts say that they unpack to far more than the file has."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    most = max(FREELY_UNPACKED, UNPACKED_TIMES * path.stat().st_size)
    if size > most:
        raise ValueError(f"{size} bytes unpacked, more than {most}; save it as CSV")


def filled_rows(sheet: Any, most: int) -> tuple[list[list[Any]], list[int]]:
    """Rows that are not blank, equally wide, and their row numbers; at most so many cells."""
    rows, line, cells = [], [], 0
    sheet.reset_dimensions()  # else each row is as wide as the file claims
    for number, values in enumerate(islice(sheet.iter_rows(values_only=True), MOST_ROWS + 1), 1):
        cells += len(values)
        if number > MOST_ROWS or cells > most:
            raise ValueError(f"more than {MOST_ROWS} rows or {most} cells; save it as CSV")
        if any(sheet_text(value) for value in values):
            rows.append(list(values))
            line.append(number)
    filled = (k + 1 for row in rows for k, value in enumerate(row) if sheet_text(value))
    width = max(filled, default=0)
    return [(row + [None] * width)[:width] for row in rows], line


def sheet_text(cell: Any) -> str:
    """A cell as the text a CSV file would hold; whole numbers without a point."""
    if cell is None:
        return ""
    if isinstance(cell, datetime | date | time):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
