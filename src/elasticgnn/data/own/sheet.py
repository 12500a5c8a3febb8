"""The first sheet of an Excel workbook as rows of text."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from elasticgnn.extras import optional_imports

SHEETS = (".xlsx", ".xlsm")
MOST_CELLS = 50_000_000


def read_sheet(path: Path) -> tuple[list[list[str]], list[int], tuple[str, ...]]:
    """Rows that are not blank, all as wide as the widest, their row numbers, and notes."""
    with optional_imports():
        import openpyxl

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        rows, line = filled_rows(sheet, path)
        names = book.sheetnames
        book.close()
    except (KeyError, IndexError, TypeError, OSError, zipfile.BadZipFile, SyntaxError) as error:
        said = str(error).splitlines()[0][:80] if str(error) else type(error).__name__
        raise ValueError(f"{path} must be an Excel workbook, got: {said}") from None
    if not rows:
        raise ValueError(f"{path} must have rows, got an empty sheet {names[0]!r}")
    others = f"{path.name}: only the first of {len(names)} sheets is read, {names[0]!r}"
    return rows, line, (others,) if len(names) > 1 else ()


def filled_rows(sheet: Any, path: Path) -> tuple[list[list[str]], list[int]]:
    """Rows that are not blank, equally wide, and their row numbers."""
    rows, line = [], []
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        texts = [sheet_text(cell) for cell in cells]
        if any(texts):
            rows.append(texts)
            line.append(number)
        if number * len(texts) > MOST_CELLS:
            raise ValueError(f"{path} must have at most {MOST_CELLS} cells, got more")
    width = max((k + 1 for row in rows for k, cell in enumerate(row) if cell), default=0)
    return [(row + [""] * width)[:width] for row in rows], line


def sheet_text(cell: Any) -> str:
    """A cell as the text a CSV file would hold; whole numbers without a point."""
    if cell is None:
        return ""
    if isinstance(cell, datetime | date | time):
        return cell.isoformat(" ") if isinstance(cell, datetime) else cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip()
