"""What is read is what was meant, or it is said."""

import pandas
import pytest
import torch

from elasticgnn.data import read_task
from written_tables import write_tables

EDGES = "source,target\np1,p2\np2,p3\np3,p4\n"


def test_unknown_headers_above_ids_with_digits_are_no_edge(tmp_path):
    task = read_task(**write_tables(tmp_path, edges=EDGES.replace("source,target", "buyer,seller")))
    assert task.node_ids == ("p1", "p2", "p3", "p4")
    assert "edges.csv: columns 'buyer', 'seller' are read as source, target" in task.notes


def test_a_first_row_of_words_seen_nowhere_else_is_said(tmp_path):
    task = read_task(**write_tables(tmp_path, edges="buyer,seller\nann,bob\nbob,cy\ncy,ann\n"))
    assert "edges.csv: row 1 is read as an edge between 'buyer' and 'seller'" in task.notes
    quiet = read_task(**write_tables(tmp_path, edges="ann,bob\nbob,cy\ncy,ann\n"))
    assert not any("read as an edge" in note for note in quiet.notes)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_row_numbers_are_no_feature(tmp_path, name, ending):
    paths = write_tables(tmp_path, edges=EDGES)
    table = pandas.DataFrame(
        {name: range(4), "id": ["p1", "p2", "p3", "p4"], "size": [5.0, 6, 7, 8]}
    )
    path = tmp_path / f"features.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    task = read_task(paths["edges"], path)
    assert task.feature_names == ("size",)
    assert torch.equal(task.features, torch.tensor([[5.0], [6], [7], [8]]))
    assert any("counts the rows and is not used" in note for note in task.notes)


def test_classes_among_the_features_are_no_feature(tmp_path):
    features = "id,size,label\np1,1,0\np2,2,1\np3,3,0\np4,4,1\n"
    task = read_task(**write_tables(tmp_path, edges=EDGES, features=features))
    assert task.feature_names == ("size",)
    assert any("column 'label' names classes" in note for note in task.notes)


def test_further_columns_of_labels_are_said(tmp_path):
    labels = "id,label,year\np1,a,1999\np2,b,2000\n"
    task = read_task(**write_tables(tmp_path, edges=EDGES, labels=labels))
    assert "labels.csv: columns not used as labels: 'year'" in task.notes


def test_several_classes_in_one_cell_are_said(tmp_path):
    labels = "id,label\np1,a\np2,b\np3,a|b\n"
    task = read_task(**write_tables(tmp_path, edges=EDGES, labels=labels))
    assert task.class_names == ("a", "a|b", "b")
    assert any("'a|b' are read as one class each" in note for note in task.notes)


def chain(count):
    return "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(count))


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (lambda k: k / 7, "got 300 different numbers for 300 nodes: a quantity"),
        (lambda k: 10 * (k // 2), "got 150 different numbers for 300 nodes: a quantity"),
        (lambda k: f"name {k}", "got 300 different names for 300 nodes"),
    ],
)
def test_numbers_and_ids_are_no_classes(tmp_path, label, message):
    labels = "id,label\n" + "".join(f"{k},{label(k)}\n" for k in range(300))
    with pytest.raises(ValueError, match=message):
        read_task(**write_tables(tmp_path, edges=chain(300), labels=labels))


def test_many_classes_that_repeat_are_classes(tmp_path):
    labels = "id,label\n" + "".join(f"{k},{k % 40}\n" for k in range(300))
    assert read_task(**write_tables(tmp_path, edges=chain(300), labels=labels)).num_classes == 40


def test_parquet_cells_that_are_no_numbers_are_named(tmp_path):
    paths = write_tables(tmp_path, edges=EDGES)
    path = tmp_path / "f.parquet"
    for cell in (float("inf"), "old", 1e99):
        sizes = pandas.Series([1.0, cell, 2.0, 3.0], dtype=object if cell == "old" else None)
        if cell == "old":
            sizes = sizes.astype(str)
        pandas.DataFrame({"id": ["p1", "p2", "p3", "p4"], "size": sizes}).to_parquet(path)
        with pytest.raises(ValueError, match=r"row 2, column 'size': a feature must be a finite"):
            read_task(paths["edges"], path)


@pytest.mark.parametrize(
    ("ends", "pair"),
    [
        ([("1", "2.0"), ("2", "3.0"), ("1.0", "3")], "'2.0' and '2'"),
        ([("001", "2"), ("2", "1")], "'001' and '1'"),
        ([("0", "000."), ("a", "b")], "'0' and '000.'"),
        ([("01", "02"), ("02", "03")], None),
        ([("1e3", "1000"), ("12e4", "a")], None),  # may be the digits of a name
        ([("09007199254740993", "9007199254740992"), ("a", "b")], None),
    ],
)
def test_ids_that_are_one_number_are_noted(tmp_path, ends, pair):
    """pandas writes whole numbers with a point where one is missing: a triangle falls apart."""
    rows = "".join(f"{a},{b}\n" for a, b in ends)
    (tmp_path / "e.csv").write_text("source,target\n" + rows)
    notes = read_task(tmp_path / "e.csv").notes
    found = [note for note in notes if "one number" in note]
    words = f"e.csv: ids {pair} are read as two nodes, though they are one number"
    assert found == ([] if pair is None else [words])
