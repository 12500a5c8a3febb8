"""Large tables are read like small ones, by whichever reader."""

import numpy as np
import pandas
import pytest
import torch

from elasticgnn.data import read_task
from elasticgnn.data.own import arrow_csv, feature_matrix
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.label_table import read_label_table
from written_tables import write_tables


@pytest.mark.parametrize(
    "text",
    [
        "source,target,weight\n7,8,1.5\n8,9,2\n",
        "source,target\n007,8\n7,8\n",
        "7,8\n8,9\n",
        "source,target,weight\n\n7,8,1\n8,9,2\n",
        'source,target\n"Smith, Ann",b\nb,c\n',
        "to,from\n 7 ,8\n8,9\n",
        "source,target\n1.0,2\n2,3\n",
        "source,target\n+5,5\n5,6\n",
        "source,target\ntrue,false\nfalse,n\n",
        "source,target\n2024-01-31,a\n2024-02-01,b\n",
        "source,target\n0,10\n00,10\n",
        "source,target\na,b\nsource,target\nb,c\n",
    ],
)
def test_both_readers_read_the_same_edges(tmp_path, monkeypatch, text):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    found = []
    for size in (10**9, 0):
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
        found.append(read_edge_table(path))
    one, other = found
    assert one.source.tolist() == other.source.tolist()
    assert one.target.tolist() == other.target.tolist()
    assert list(one.line) == list(other.line)
    assert (one.weight is None) == (other.weight is None)
    if one.weight is not None:
        assert one.weight.tolist() == other.weight.tolist()


def test_both_readers_read_the_same_features(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(50, 3)).round(3), columns=list("xyz"))
    table.insert(0, "id", [f"n{k}" for k in range(50)])
    table.loc[3, "y"] = None
    table.to_csv(tmp_path / "f.csv", index=False)
    table.to_parquet(tmp_path / "f.parquet")
    found = []
    for name, size in (("f.csv", 10**9), ("f.csv", 0), ("f.parquet", 0)):
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
        found.append(read_feature_table(tmp_path / name))
    for other in found[1:]:
        torch.testing.assert_close(found[0].values, other.values)
        assert found[0].ids.tolist() == other.ids.tolist()
        assert torch.equal(found[0].missing, other.missing)


@pytest.mark.parametrize("again", ["id,size,2\n", ""])
def test_both_readers_leave_out_a_header_that_stands_again(tmp_path, monkeypatch, again):
    path, found = tmp_path / "features.csv", []
    path.write_text(f"id,size,2\na,5,1\n{again}b,6,1\n")
    for size in (10**9, 0):
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
        found.append(read_feature_table(path))
    for rows in found:
        assert rows.values.tolist() == [[5, 1], [6, 1]]
        assert rows.ids.tolist() == ["a", "b"]
        assert len(rows.notes) == bool(again)


def test_large_plain_files_take_the_quick_way(tmp_path, monkeypatch):
    """Without lists of text: the careful reader is not even called."""
    monkeypatch.setattr("elasticgnn.data.own.edge_table.read_lines", None)
    monkeypatch.setattr("elasticgnn.data.own.feature_table.read_lines", None)
    count = 40_000
    edges = "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(count - 1))
    rows = "id,size\n" + "".join(f"{k},{k / 7:.4f}\n" for k in range(count))
    task = read_task(**write_tables(tmp_path, edges=edges, features=rows))
    assert task.num_nodes == count
    assert task.graph.num_edges == count - 1


def test_errors_of_large_files_name_the_same_row(tmp_path):
    count = 40_000
    edges = "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(count)) + "5,x y\n"
    rows = "id,size\n" + "".join(f"{k},{k}\n" for k in range(count + 1))
    with pytest.raises(ValueError, match=rf"row {count + 2}, column 'target': .*got 'x y'"):
        read_task(**write_tables(tmp_path, edges=edges, features=rows))


@pytest.mark.parametrize("large", [0, 100])
def test_columns_are_put_side_by_side_over_many_blocks(monkeypatch, large):
    """By one thread, and by several."""
    monkeypatch.setattr(feature_matrix, "BLOCK", 3)
    monkeypatch.setattr(feature_matrix, "LARGE_MATRIX", large)
    parts = [np.arange(8.0), np.arange(8) % 2 == 0, np.arange(8, dtype=np.int32) ** 2]
    assert feature_matrix.side_by_side(parts, 8).tolist() == np.stack(parts, 1).tolist()
    for kind in (np.float64, np.float32, np.int32):
        alike = [np.arange(8, dtype=kind), np.arange(16, dtype=kind)[::2] ** 2]
        for columns in (alike, [part.copy() for part in alike]):
            found = feature_matrix.side_by_side(columns, 8)
            assert found.tolist() == np.stack(alike, 1).tolist()
            assert found.dtype == np.float32


@pytest.mark.parametrize(
    "text",
    [
        "id,label\n7,a\n8, b \n9,\n",
        "y,other,node\n1,x,n1\n1.0,y,n2\nNA,z,n3\n",
        "id,label\n007,a\n7,b\n",
        'id,class\n"Smith, Ann","a, b"\nb,c\n',
        "id,label\n\n7,true\n8,False\n",
        "a,b\nc,d\n",
        "id,label\n1.0,a\n2,b\n",
        "id,label\n+5,a\n5,b\n",
        "id,label\ntrue,1\nfalse,2.50\n",
        "id,label\n2024-01-31,a\n2024-02-01,nan\n",
        'id,label\n"7",a\n8,?\n',
        "id,label\n12345678901234567890,a\n2,b\n",
        "id,label\n0,a\n0.5,b\n",
        "id,label\n7,a\nid,label\n8,b\n",
        "id,label\nx,a\nid,label\ny,b\n",
        "nan,label\n1,a\nnan,label\n2,b\n",
    ],
)
def test_both_readers_read_the_same_labels(tmp_path, monkeypatch, text):
    path, found = tmp_path / "labels.csv", []
    path.write_text(text)
    for size in (10**9, 0):
        monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
        found.append(read_label_table(path))
    one, other = found
    assert one.ids.tolist() == other.ids.tolist()
    assert list(one.line) == list(other.line)
    assert list(one.names) == list(other.names)
    assert (one.column, one.id_column) == (other.column, other.id_column)
    assert one.notes == other.notes


def test_large_labels_take_the_quick_way(tmp_path, monkeypatch):
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n" + "".join(f"{k},class {k % 3}\n" for k in range(40_000)))
    monkeypatch.setattr("elasticgnn.data.own.label_table.read_lines", None)
    assert list(read_label_table(path).names[:4]) == ["class 0", "class 1", "class 2", "class 0"]
    pandas.read_csv(path).to_parquet(tmp_path / "labels.parquet")
    assert read_label_table(tmp_path / "labels.parquet").names[-1] == f"class {39_999 % 3}"


def test_a_repeated_id_in_large_labels_is_named_by_its_row(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n" + "".join(f"{k},a\n" for k in range(40_000)) + "7,b\n")
    with pytest.raises(ValueError, match=r"row 40002, column 'id': each node must have one row"):
        read_label_table(path)
