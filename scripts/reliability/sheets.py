"""Workbooks, and packed tables of signals."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

from seed import Format


def sheet_formats() -> dict[str, Format]:
    """Workbooks as they are and damaged inside the zip file, and packed signals."""
    from elasticgnn.data import read_task
    from elasticgnn.data.signal_files import read_signal

    inside = Format("sheet.xml", sheet(), lambda path: read_task(packed_book(path)))
    return {
        "xlsx": Format("e.xlsx", book(sheet()), read_task),
        "sheet of an xlsx": inside,
        "signal xlsx": Format(
            "sheet.xml", sheet(), lambda path: read_signal(packed_book(path)).values
        ),
        "signal csv.gz": Format(
            "s.csv.gz", gzip.compress(b"id,v\n0,1\n1,2\n", mtime=0), read_signal
        ),
        "signal parquet": Format("s.parquet", signal_parquet(), read_signal),
    }


def sheet() -> bytes:
    """The sheet of a small workbook: text, numbers, a date."""
    cells = (
        b'<c t="inlineStr"><is><t>%s</t></is></c>' % word
        for word in (b"source", b"target", b"weight")
    )
    first = b"<row>" + b"".join(cells) + b"</row>"
    rows = (
        b"<row><c><v>%d</v></c><c><v>%d</v></c><c><v>0.5</v></c></row>" % (k, k + 1) for k in (1, 2)
    )
    head = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    return head + b"<sheetData>" + first + b"".join(rows) + b"</sheetData></worksheet>"


def book(content: bytes) -> bytes:
    """A workbook with this sheet."""
    import openpyxl

    empty, file = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(empty)
    with zipfile.ZipFile(empty) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            is_sheet = entry.filename.endswith("sheet1.xml")
            new.writestr(zipfile.ZipInfo(entry.filename), content if is_sheet else old.read(entry))
    return file.getvalue()


def packed_book(path: Path) -> Path:
    """The workbook, beside it, whose sheet is the content of `path`."""
    target = path.with_suffix(".xlsx")
    target.write_bytes(book(path.read_bytes()))
    return target


def signal_parquet() -> bytes:
    import pandas as pd

    return pd.DataFrame({"id": ["a", "b"], "v": [1.0, 2.5]}).to_parquet()
