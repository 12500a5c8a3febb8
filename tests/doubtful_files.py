"""More odd files: spellings, ids that a program changed, typed columns, what pandas leaves behind.

Entries are as in `odd_files.py`.
"""

import io
from decimal import Decimal

import openpyxl
import pandas
import pyarrow
from pyarrow import parquet

from broken_files import GOOD_EDGES, GOOD_FEATURES
from odd_files import Refused, odd, with_column

NAMES = ["ann", "bob", "cy", "dan"]


def of_pandas(**columns):
    """A Parquet file of a table whose rows were chosen from a longer one."""
    file = io.BytesIO()
    frame = pandas.DataFrame(columns, index=[3, 5, 6, 9])
    frame.to_parquet(file)
    return file.getvalue()


def of_arrow(*columns):
    """A Parquet file of (name, cells)."""
    file = io.BytesIO()
    names = [name for name, _ in columns]
    parquet.write_table(pyarrow.Table.from_arrays([cells for _, cells in columns], names), file)
    return file.getvalue()


def typed(cells, name="size"):
    return of_arrow(("id", pyarrow.array(NAMES)), (name, cells))


def workbook(*rows):
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def labels(*words):
    rows = zip(NAMES, words, strict=False)
    return "id,label\n" + "".join(f"{node},{word}\n" for node, word in rows)


def features(cells, name="size"):
    return f"id,{name}\n" + "".join(f"{n},{c}\n" for n, c in zip(NAMES, cells, strict=True))


WIDE = ",".join(["id", *(f"c{k % 1100}" for k in range(1200))]) + "\n"
WIDE += "".join(",".join([name, *["1"] * 1200]) + "\n" for name in NAMES)
NOT_KNOWN = "are read as not known"
TWO_CLASSES = "are read as two classes"

DOUBTFUL = {
    # labels
    "none as a class": odd("labels", labels("none", "mild", "severe", "mild"), NOT_KNOWN),
    "NA as a class": odd("labels", labels("NA", "EU", "AS", "EU"), "1 labels 'NA'"),
    "unknown beside 1 and 1.0": odd("labels", labels("1", "1.0", "0", "unknown"), "are one class"),
    "blanks behind words": odd("labels", labels("red ", "blue", "red", "blue  "), True),
    "two blanks between words": odd("labels", labels("no x", "no  x", "x"), TWO_CLASSES),
    "an accent of its own": odd("labels", labels("caf\u00e9", "cafe\u0301", "tea"), TWO_CLASSES),
    "a sign without width": odd("labels", labels("bad", "bad\u200b", "good"), TWO_CLASSES),
    "a column for each class": odd(
        "labels", "id,red,blue\nann,1,0\nbob,0,1\n", Refused("--label-column says which")
    ),
    "categories of pandas": odd(
        "labels",
        of_pandas(id=NAMES, label=pandas.Categorical(["x", "y", None, "x"])),
        True,
        ".parquet",
    ),
    # ids
    "ids that a spreadsheet rounded": odd(
        "edges", GOOD_EDGES + "1.23E+12,ann,1\n", Refused("got '1.23E+12'")
    ),
    "ids in capitals": odd("edges", GOOD_EDGES + "Dan,ann,1\n", Refused("(there is 'dan')")),
    "ids with an accent of its own": odd(
        "edges", GOOD_EDGES + "da\u0308n,ann,1\n", Refused(r"got 'da\u0308n'")
    ),
    "ids of float columns": odd(
        "edges", "source,target\nann,bob\nbob,cy\n" + "1.0,ann\n", Refused("got '1.0'")
    ),
    "quoted ids": odd("features", GOOD_FEATURES.replace("ann", '"ann"'), True),
    # what separates columns
    "a comma in the header of semicolons": odd(
        "features", 'id;"size, m";age\nann;1,5;2\nbob;3;4\ncy;5;6\ndan;7;8\n', True
    ),
    "semicolons without a header": odd("edges", "ann;bob;1,5\nbob;cy;2,5\ncy;dan;1,0\n", "weight"),
    "bars": odd("features", GOOD_FEATURES.replace(",", "|"), Refused("separated by commas")),
    "a page of the web": odd("edges", "<!DOCTYPE html>\n<p>a, b</p>\n", Refused("separated by")),
    # features
    "chosen rows of pandas": odd(
        "features",
        of_pandas(id=NAMES, size=[1.0, 2.0, 3.0, 4.0]),
        "numbers rows and is not used",
        ".parquet",
    ),
    "chosen rows of pandas in text": odd(
        "features", ",id,size\n3,ann,1\n7,bob,2\n9,cy,3\n12,dan,4\n", "numbers rows and is not used"
    ),
    "1200 columns, some of one name": odd("features", WIDE, Refused("got 'c0' twice")),
    "two typed columns of one name": odd(
        "features",
        of_arrow(
            ("id", pyarrow.array(NAMES)),
            ("a", pyarrow.array([1, 2, 3, 4])),
            ("a", pyarrow.array([5, 6, 7, 8])),
        ),
        Refused("column names must differ, got 'a' twice"),
        ".parquet",
    ),
    "seconds since 1970": odd(
        "features", features(range(1609459201, 1609459205)), "too near to each other"
    ),
    "decimals": odd(
        "features",
        typed(pyarrow.array([Decimal("1.50"), None, Decimal("2"), Decimal("3")])),
        "1 missing numbers",
        ".parquet",
    ),
    "a column of nothing": odd(
        "features",
        of_arrow(
            ("id", pyarrow.array(NAMES)),
            ("a", pyarrow.array([1, 2, 3, 4])),
            ("b", pyarrow.nulls(4)),
        ),
        "is empty and is not used",
        ".parquet",
    ),
    "numbered words": odd(
        "features",
        typed(pyarrow.array(["r", "b", None, "r"]).dictionary_encode(), "city"),
        "a category of 2 words",
        ".parquet",
    ),
    "truth beside 0 and 1": odd("features", with_column("ok", ["True", "0", "1", "no"]), True),
    "a dash for nothing": odd("features", with_column("pay", ["-", "3", "4", "5"]), Refused("'-'")),
    "an error of a sheet": odd(
        "features",
        workbook(["id", "size"], *zip(NAMES, [1, 2, "#DIV/0!", 4], strict=True)),
        Refused("got '#DIV/0!'"),
        ".xlsx",
    ),
    "formulas that nobody computed": odd(
        "features",
        workbook(["id", "size"], *zip(NAMES, [1, "=B2+1", 3, 4], strict=True)),
        Refused("cell B3: a formula without its value"),
        ".xlsx",
    ),
    "a title above the table": odd(
        "features",
        workbook(["Accounts"], [], ["id", "size"], *zip(NAMES, "1234", strict=True)),
        Refused("features.xlsx, row"),
        ".xlsx",
    ),
}
