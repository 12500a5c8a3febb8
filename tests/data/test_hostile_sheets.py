"""Workbooks and packed tables made to annoy, and names that a spreadsheet would take for code."""

import gzip
import io
import zipfile

import numpy as np
import openpyxl
import pandas
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.own import sheet
from elasticgnn.data.own.sheet import read_sheet
from elasticgnn.data.signal_files import SignalFile, read_signal, read_table, write_signal
from memory import forget_peak, peak

SHEET = "xl/worksheets/sheet1.xml"
ROOM = 200 << 20


def workbook(rows) -> bytes:
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


GOOD = workbook([["source", "target"], [1, 2], [2, 3]])


def edited(old: bytes, new: bytes, part: str = SHEET) -> bytes:
    """The good workbook with something else in one of its parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(GOOD)) as given, zipfile.ZipFile(file, "w", 8) as made:
        for entry in given.infolist():
            content = given.read(entry)
            if entry.filename == part:
                assert old in content
                content = content.replace(old, new, 1)
            made.writestr(entry.filename, content)
    return file.getvalue()


def with_rows(rows: bytes) -> bytes:
    return edited(b"<sheetData>", b"<sheetData>" + rows)


BOMBS = {
    "a cell of 100 MB": lambda: edited(b"<v>", b"<v>" + b"1" * 100_000_000),
    "a part that nobody reads": lambda: edited(b"<a:t", b" " * 50_000_000, "xl/theme/theme1.xml"),
    "a row far down": lambda: with_rows(b'<row r="1000000000"><c><v>1</v></c></row>'),
    "cells far to the right": lambda: with_rows(b'<row><c r="XFD9"><v>1</v></c></row>' * 200),
}


@pytest.mark.parametrize("read", [read_task, read_signal])
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_workbook_that_swells_is_refused_within_bounds(tmp_path, bomb, read):
    path = tmp_path / "e.xlsx"
    path.write_bytes(BOMBS[bomb]())
    before = forget_peak()
    with pytest.raises(ValueError, match=r"e\.xlsx must be an Excel workbook, got.*more than"):
        read(path)
    assert peak() - before < ROOM


@pytest.mark.parametrize(("limit", "most"), [("MOST_ROWS", 6), ("FREE_CELLS", 9000)])
def test_a_workbook_has_so_many_rows_and_cells(tmp_path, monkeypatch, limit, most):
    path = tmp_path / "e.xlsx"
    path.write_bytes(with_rows(b'<row><c r="BAA9"><v>1</v></c></row>' * 7))  # column 1379
    assert len(read_sheet(path)[0]) == 7
    monkeypatch.setattr(sheet, limit, most)
    with pytest.raises(ValueError, match=f"more than.* {most} "):
        read_sheet(path)


def test_a_workbook_that_claims_a_wide_sheet_is_read(tmp_path):
    path = tmp_path / "e.xlsx"
    path.write_bytes(edited(b"A1:B3", b"A1:XFD1048576"))
    assert read_sheet(path)[0] == [["source", "target"], ["1", "2"], ["2", "3"]]


@pytest.mark.parametrize("cut", [40, 1000, -30])  # its length varies with the time in it
def test_half_a_workbook_of_a_signal_is_refused_by_name(tmp_path, cut):
    path = tmp_path / "s.xlsx"
    path.write_bytes(GOOD[:cut])
    with pytest.raises(ValueError, match=r"s\.xlsx must be an Excel workbook, got"):
        read_signal(path)


def test_a_packed_signal_that_swells_is_refused(tmp_path):
    path = tmp_path / "s.csv.gz"
    path.write_bytes(gzip.compress(b"id,v\na," + b"0" * 120_000_000, 9))
    before = forget_peak()
    with pytest.raises(ValueError, match=r"s\.csv\.gz must unpack to at most"):
        read_signal(path)
    assert peak() - before < ROOM


@pytest.mark.parametrize("ending", ["gz", "zip"])
def test_a_packed_signal_is_read_or_refused_by_name(tmp_path, ending):
    path = tmp_path / f"s.csv.{ending}"
    frame = pandas.DataFrame({"id": ["a", "b"], "v": [1.0, 2.5]})
    frame.to_csv(path, index=False)
    assert read_signal(path).values.tolist() == [[1.0], [2.5]]
    path.write_bytes(b"no such file")
    with pytest.raises(ValueError, match=rf"s\.csv\.{ending} must be a"):
        read_signal(path)


def test_a_parquet_signal_of_millions_of_equal_cells_is_refused(tmp_path):
    path = tmp_path / "s.parquet"
    zeros = np.zeros(3_000_000, np.int8)
    pandas.DataFrame({"id": zeros, "v": zeros}).to_parquet(path)
    with pytest.raises(ValueError, match=r"s\.parquet must have no more cells than bytes"):
        read_signal(path)


def test_a_signal_in_another_encoding_is_refused_by_name(tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes(b"id,v\nM\xfcller,1\n")
    with pytest.raises(ValueError, match=r"s\.csv must be UTF-8 text"):
        read_signal(path)


def test_a_sheet_is_the_frame_that_pandas_reads(tmp_path):
    path = tmp_path / "s.xlsx"
    rows = [["id", "v", "w", "t"], ["07b", 1, 2.0, "x"], ["b", 2.5, None, True], ["c", 3, "NA", 4]]
    path.write_bytes(workbook(rows))
    pandas.testing.assert_frame_equal(read_table(path), pandas.read_excel(path))


def test_names_that_begin_with_an_equals_sign_stay_names(tmp_path):
    names = ["=1+1", '=HYPERLINK("http://x")', "#N/A!", "a"]
    table = pandas.DataFrame({"id": names, "=v": [0.0] * 4})
    signal = SignalFile(np.zeros((4, 1)), ("=v",), tuple(names), None, table)
    write_signal(tmp_path / "o.xlsx", signal, np.ones((4, 1)))
    found = openpyxl.load_workbook(tmp_path / "o.xlsx").active
    assert {cell.data_type for cell in found["A"]} == {"s"}
    assert found["B1"].data_type == "s"
    assert read_signal(tmp_path / "o.xlsx").ids == tuple(names)
