"""Large tables, which pyarrow reads, say what small ones say, whatever stands in their cells."""

import random

import numpy as np
import pytest

from elasticgnn.data.own import arrow_csv
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.label_table import read_label_table

READERS = {"edges": read_edge_table, "features": read_feature_table, "labels": read_label_table}
HEADERS = {
    "edges": "source,target,weight,when",
    "features": "id,size,age,city",
    "labels": "id,label,year,x",
}
CELLS = (
    *("1", "2", "0", "-1", "+3", "5.", ".5", "3.5", "1.0", "-0", "007", "00", "1e3", "1E5", "1e99"),
    *("1_000", "0x1", "12%", "inf", "-inf", "9007199254740993", "12345678901234567890"),
    *("", "NA", "nan", "none", "NULL", "?", "n/a", "#N/A", "True", "TRUE", "false", "yes", "no"),
    *("a", "b", "a b", " a", "b ", "'x'", '"q"', '"q,r"', "café", "\u00a0x", "2020-01-01", "12:30"),
)


def any_table(kind, rng):
    """A few rows; each column draws from a few cells, most first columns count."""
    width = rng.randint(2, 4)
    pools = [rng.sample(CELLS, rng.randint(1, 6)) for _ in range(width)]
    header = rng.choice([None, HEADERS[kind], "k,v,w,z"])
    lines = [] if header is None else [",".join(header.split(",")[:width])]
    for row in range(rng.randint(1, 6)):
        cells = [rng.choice(pool) for pool in pools]
        if kind != "edges" and rng.random() < 0.8:
            cells[0] = rng.choice([f"n{row}", str(row)])
        lines.append(",".join(cells))
    return "\n".join(lines) + rng.choice(["\n", ""])


def plain(value):
    """Lists and texts in place of arrays; 0 for -0."""
    if hasattr(value, "to_dense"):
        value = value.to_dense()
    if hasattr(value, "tolist"):
        value = np.asarray(value)
        return (value + 0.0).tolist() if value.dtype.kind == "f" else list(map(str, value.tolist()))
    return value if isinstance(value, str | None) else list(value)


def reading(read, path):
    """All that a reader says of a file, or its error."""
    try:
        rows = read(path)
    except ValueError as error:
        return str(error)
    return {name: plain(value) for name, value in vars(rows).items() if name != "path"}


def both(kind, text, folder, monkeypatch):
    """What the careful reader says of a table, and what pyarrow's does."""
    path = folder / f"{kind}.csv"
    path.write_text(text, encoding="utf-8")
    found = []
    for smallest in (10**9, 0):
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": smallest})
        found.append(reading(READERS[kind], path))
    return found


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("seed", range(4))
def test_any_table_is_read_alike(kind, seed, tmp_path, monkeypatch):
    rng = random.Random(f"{kind} {seed}")
    for _ in range(150):
        text = any_table(kind, rng)
        careful, quick = both(kind, text, tmp_path, monkeypatch)
        assert quick == careful, text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("features", "n0,b,c\nn1,h,f\nn2,b,f\n"),  # no header: the first row is a node
        ("features", "0,NA\nn1,yes\n"),  # words and no header
        ("features", "id,size\na,0x10\nb,16\nc,3\n"),  # pyarrow takes 0x10 for 16
        ("features", "id,ok\na,True\nb,0\nc,1\n"),
        ("edges", "source,target\n0x10,16\n16,17\n"),
        ("edges", "0x10,16"),
        ("edges", "a,b\nb,c\nc,d\n"),  # letters that are names of columns, too
        ("labels", "id,label\n0x10,a\n17,b\n"),
    ],
)
def test_tables_that_were_read_in_two_ways(kind, text, tmp_path, monkeypatch):
    careful, quick = both(kind, text, tmp_path, monkeypatch)
    assert quick == careful


@pytest.mark.filterwarnings("error")
def test_a_file_that_begins_with_node_0_gives_no_warning(tmp_path, monkeypatch):
    careful, quick = both("edges", "0,1\n1,2\n", tmp_path, monkeypatch)
    assert quick == careful
