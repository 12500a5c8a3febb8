"""Which sheet of a workbook is read, and cells whose formula nobody has computed."""

import io
import zipfile

import openpyxl
import pandas
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.signal_files import read_signal

EDGES = [("source", "target"), (1, 2), (2, 3)]


def book_of(path, **sheets):
    """A workbook with these rows per sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_empty_sheets_before_the_first_with_cells_are_passed_over(tmp_path):
    path = book_of(tmp_path / "e.xlsx", Cover=[], Blank=[(None, " ")], Data=EDGES, More=EDGES)
    task = read_task(path)
    assert task.node_ids == (1, 2, 3)
    assert "e.xlsx: sheet 'Data' is read, the first of 4 that has cells" in task.notes
    assert read_signal(path).ids == ("1", "2")


def test_a_workbook_of_empty_sheets_names_them(tmp_path):
    path = book_of(tmp_path / "e.xlsx", Cover=[], Blank=[])
    with pytest.raises(ValueError, match="must have rows, got only empty sheets 'Cover', 'Blank'"):
        read_task(path)


def test_a_formula_that_nobody_computed_is_named(tmp_path):
    rows = [("source", "target"), ("a", "b"), ("b", '=CONCATENATE("c","")')]
    path = book_of(tmp_path / "e.xlsx", Cover=[], Data=rows)
    with pytest.raises(ValueError, match=r"e\.xlsx, sheet 'Data', cell B3: a formula without its"):
        read_task(path)


def test_so_is_one_among_features_that_would_be_a_missing_number(tmp_path):
    edges = book_of(tmp_path / "e.xlsx", Data=EDGES)
    rows = [("id", "x"), (1, 0.5), (2, "=B2+1"), (3, 2)]
    path = book_of(tmp_path / "f.xlsx", Data=rows)
    with pytest.raises(ValueError, match=r"cell B3: .*save it in Excel or LibreOffice"):
        read_task(edges, path)


def test_a_formula_whose_answer_is_known_or_empty_is_read(tmp_path):
    """As Excel saves =A2&"" of an empty cell, and =1+1."""
    file = io.BytesIO()
    book_of(file, Data=[("source", "target", "weight"), ("a", "b", "=1+1"), ("b", "c", "=2+2")])
    path = tmp_path / "e.xlsx"
    with zipfile.ZipFile(file) as given, zipfile.ZipFile(path, "w") as made:
        for entry in given.infolist():
            content = given.read(entry)
            content = content.replace(b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>")
            content = content.replace(b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>")
            content = content.replace(b"<f>2+2</f><v></v>", b"<f>2+2</f><v>4</v>")
            content = content.replace(b"<f>2+2</f><v />", b"<f>2+2</f><v>4</v>")
            empty = b'<row r="4"><c r="A4" t="str"><f>D1&amp;""</f><v></v></c></row></sheetData>'
            made.writestr(entry, content.replace(b"</sheetData>", empty))
    assert read_task(path).graph.weight.tolist() == [2.0, 4.0]


def test_blank_cells_without_a_formula_are_blank(tmp_path):
    frame = pandas.DataFrame({"id": [1, 2, 3], "x": [0.5, None, 2.0]})
    frame.to_excel(tmp_path / "f.xlsx", index=False)
    task = read_task(book_of(tmp_path / "e.xlsx", Data=EDGES), tmp_path / "f.xlsx")
    assert task.features.flatten().tolist() == [0.5, 1.25, 2.0]
