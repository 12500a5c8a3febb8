"""The first sheet of an Excel workbook as rows of cells."""

from __future__ import annotations

import zipfile
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
        rows, line = filled_rows(book.worksheets[0], max(FREE_CELLS, path.stat().st_size))
        names = book.sheetnames
        book.close()
    except (*DAMAGE, AttributeError) as error:
        reason = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise ValueError(f"{path} must be an Excel workbook, got: {reason}") from None
    if not rows:
        raise ValueError(f"{path} must have rows, got an empty sheet {names[0]!r}")
    others = f"{path.name}: only the first of {len(names)} sheets is read, {names[0]!r}"
    return rows, line, (others,) if len(names) > 1 else ()


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
