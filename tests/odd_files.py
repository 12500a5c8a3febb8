"""Odd files that people have: what they are read as, or the one line that refuses them.

Each entry names the file that takes the place of a good one, its content, and what must come out:
a word of a note, `True` for a reading without more words, or `Refused` with the words of the error.
"""

import gzip
import io
import zipfile
from dataclasses import dataclass

import openpyxl

from broken_files import GOOD_EDGES, GOOD_FEATURES


@dataclass(frozen=True)
class Refused:
    words: str


@dataclass(frozen=True)
class Odd:
    file: str  # edges, features or labels
    content: bytes
    outcome: object
    ending: str = ".csv"


def odd(file, content, outcome, ending=".csv"):
    raw = content if isinstance(content, bytes) else content.encode()
    return Odd(file, raw, outcome, ending)


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(f"{name}.csv", text)
    return file.getvalue()


def sheet(text, sheets=1):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for line in text.splitlines():
        cells = line.split(",")
        book.active.append([float(c) if c.isdigit() else c for c in cells])
    for _ in range(sheets - 1):
        book.create_sheet()
    book.save(file)
    return file.getvalue()


def with_column(name, cells):
    rows = zip(GOOD_FEATURES.splitlines(), (name, *cells), strict=True)
    return "".join(f"{row},{cell}\n" for row, cell in rows)


def many(cells):
    """Labels of 60 nodes; the good graph is made larger with them."""
    return "id,label\n" + "".join(f"{node},{cell}\n" for node, cell in cells)


ODD = {
    # what text can look like
    "latin-1 words": odd("labels", "id,label\nann,grün\nbob,rot\n".encode("latin-1"), "not UTF-8"),
    "utf-16 of a spreadsheet": odd("edges", GOOD_EDGES.encode("utf-16"), True),
    "a byte order mark": odd("edges", b"\xef\xbb\xbf" + GOOD_EDGES.encode(), True),
    "lines of Windows": odd("edges", GOOD_EDGES.replace("\n", "\r\n"), True),
    "lines of old Macs": odd("edges", GOOD_EDGES.replace("\n", "\r"), True),
    "no line end at the end": odd("edges", GOOD_EDGES.rstrip(), True),
    "blank lines between": odd("edges", GOOD_EDGES.replace("\n", "\n\n"), True),
    "blanks around cells": odd("edges", GOOD_EDGES.replace(",", " , "), True),
    "semicolons and decimal commas": odd(
        "features", "id;size;age\nann;1,5;2\nbob;3;4\ncy;5;6,25\ndan;7;8\n", True
    ),
    "tabs in a csv": odd("edges", GOOD_EDGES.replace(",", "\t"), True),
    "everything quoted": odd("edges", '"source","target"\n"ann","bob"\n"bob","cy"\n', True),
    "a line break inside quotes": odd("labels", 'id,label\nann,"a\nb"\nbob,c\n', True),
    "a quote that nothing closes": odd(
        "labels", 'id,label\nann,a\nbob,"b\ncy,a\ndan,b\n', Refused("a quote must be closed")
    ),
    "a line break before the last quote": odd("labels", 'id,label\nann,a\nbob,"b\n"\n', True),
    "a comma at the end of rows": odd(
        "edges", "source,target,\nann,bob,\nbob,cy,\n", "columns not used"
    ),
    "control characters in a name": odd("labels", "id,label\nann,\x1b[31mred\nbob,c\n", True),
    "pictures for names": odd("labels", "id,label\nann,🦊\nbob,🐻\n", True),
    "a nul byte": odd("edges", b"source,target\nann,b\0b\n", Refused("binary content")),
    # what is packed, and other formats
    "gz": odd("edges", gzip.compress(GOOD_EDGES.encode()), True, ".csv.gz"),
    "half a gz": odd(
        "edges", gzip.compress(GOOD_EDGES.encode())[:25], Refused("must be a whole .gz"), ".csv.gz"
    ),
    "zip of one table": odd("features", zipped(f=GOOD_FEATURES), True, ".zip"),
    "zip of two tables": odd(
        "features", zipped(f=GOOD_FEATURES, g="x"), Refused("must hold one file"), ".zip"
    ),
    "excel": odd("features", sheet(GOOD_FEATURES), True, ".xlsx"),
    "excel with two sheets": odd("edges", sheet(GOOD_EDGES, 2), "only the first of 2", ".xlsx"),
    "excel that is none": odd("edges", "x", Refused("must be an Excel workbook"), ".xlsx"),
    "an empty excel sheet": odd("edges", sheet(""), Refused("got an empty sheet"), ".xlsx"),
    "parquet that is none": odd("features", "x" * 50, Refused("must be a Parquet"), ".parquet"),
    "json that is no graph": odd("edges", "[1, 2]", Refused("must be a JSON graph"), ".json"),
    "json with places for ids": odd(
        "edges",
        '{"nodes": [{"id": "ann"}, {"id": "bob"}], "links": [{"source": 0, "target": 1}]}',
        Refused("ends must be ids of its nodes, got 0"),
        ".json",
    ),
    "json with words at its nodes": odd(
        "edges",
        '{"nodes": [{"id": "ann", "city": "Rome"}, {"id": "bob", "city": "Bonn"}], '
        '"links": [{"source": "ann", "target": "bob"}]}',
        "attributes of nodes not used: 'city'",
        ".json",
    ),
    "a zip of a Mac": odd(
        "edges", zipped(**{"edges": GOOD_EDGES, "__MACOSX/._edges": "x"}), True, ".zip"
    ),
    "an unknown ending": odd("labels", "x", Refused("must end in"), ".doc"),
    "a comment above a snap list": odd("edges", "# snap\nann bob\nbob cy\n", True, ".txt"),
    "neo4j headers": odd("edges", ":START_ID,:END_ID,:TYPE\nann,bob,K\n", "columns not used"),
    # what edges hold
    "an edge twice": odd("edges", GOOD_EDGES + "ann,bob,1\n", "name a pair again"),
    "two files in one": odd(
        "edges", GOOD_EDGES + GOOD_EDGES, "row 5 repeats the header and is left out"
    ),
    "a loop": odd("edges", GOOD_EDGES + "ann,ann,1\n", "1 self-loops dropped"),
    "words above columns": odd("edges", "ann,bob\nbob,cy\n", True),
    "more columns": odd(
        "edges", "when,source,target\n1,ann,bob\n2,bob,cy\n", "columns not used: 'when'"
    ),
    "zeros in front": odd("edges", GOOD_EDGES + "007,ann,1\n", Refused("got '007'")),
    "infinite weight": odd("edges", GOOD_EDGES.replace("2", "inf"), Refused("got 'inf'")),
    "weight with a unit": odd("edges", GOOD_EDGES.replace("2", "2 kg"), Refused("got '2 kg'")),
    # what features hold
    "row numbers of pandas": odd(
        "features",
        "".join(f"{k},{line}\n" for k, line in zip(" 0123", GOOD_FEATURES.split(), strict=True)),
        "counts the rows",
    ),
    "the label among the features": odd(
        "features", with_column("label", ["x", "y", "x", "y"]), "names classes"
    ),
    "words": odd("features", with_column("city", ["Rome", "Bonn", "", "Rome"]), "a category of 2"),
    "truth values": odd("features", with_column("ok", ["True", "false", "", "true"]), "missing"),
    "a missing number": odd("features", GOOD_FEATURES.replace("7", ""), "1 missing numbers"),
    "nan for a number": odd("features", GOOD_FEATURES.replace("7", "NaN"), "1 missing numbers"),
    "an empty column": odd("features", with_column("note", [""] * 4), "is empty and is not used"),
    "a constant column": odd("features", with_column("one", [1] * 4), True),
    "huge numbers": odd("features", GOOD_FEATURES.replace("7", "7e30"), "values reach 7e+30"),
    "dates": odd(
        "features",
        with_column("since", ["31.12.2020", "1.1.2021", "", "2.2.2021"]),
        Refused("a date must be given as a number"),
    ),
    "thousands with commas": odd(
        "features",
        with_column("pay", ['"1,200"', '"3,400"', '"900"', '"1,000"']),
        Refused("without separators or units"),
    ),
    "thousands with points and decimal commas": odd(
        "features",
        "id;pay\nann;1.200,50\nbob;3.400,25\ncy;900,5\ndan;1.000\n",
        Refused("without separators or units"),
    ),
    "thousands with points": odd(
        "features",
        "id;pay\nann;1.200\nbob;3.400\ncy;900\ndan;1.000\n",
        "'1.200' is read as 1.2",
    ),
    "percent signs": odd(
        "features",
        with_column("share", ["12%", "3.5%", "7%", "9%"]),
        Refused("without separators or units"),
    ),
    "ids alone": odd("features", "id,name\nann,\nbob,\ncy,\ndan,\n", Refused("columns of numbers")),
    "ids with a point": odd("features", "id,a\n1.0,2\n2.0,3\n", Refused("there '1.0'")),
    # what labels hold
    "several classes in a cell": odd(
        "labels", "id,label\nann,a\nbob,b\ncy,a|b\n", "read as one class each"
    ),
    "a class of one node": odd("labels", "id,label\nann,a\nbob,b\n", True),
    "unknown labels in many spellings": odd(
        "labels", "id,label\nann,a\nbob,b\ncy,NA\ndan,?\n", True
    ),
    "an extra column": odd(
        "labels", "id,label,year\nann,a,1\nbob,b,2\n", "columns not used as labels: 'year'"
    ),
    "numbers for classes": odd("labels", "id,label\nann,0\nbob,1\ncy,1.0\n", "are one class"),
}
