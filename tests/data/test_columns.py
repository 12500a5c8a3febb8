"""Columns of words, of missing numbers, of dates; large files read like small ones."""

import numpy as np
import openpyxl
import pandas
import pytest
import torch

from elasticgnn.data import read_task
from elasticgnn.data.own import arrow_csv, feature_matrix
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.ids import all_differ, text_array
from elasticgnn.data.own.label_table import read_label_table
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.data.own.read_task import read_features

EDGES = "source,target\na,b\nb,c\nc,d\n"


def write(folder, **files):
    paths = {}
    for name, text in files.items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(text)
    return paths


@pytest.fixture(params=["text", "arrow"])
def reader(request, monkeypatch):
    """Every file by the careful reader, and every file by pyarrow's."""
    size = 10**9 if request.param == "text" else 0
    monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
    return request.param


def test_a_number_with_an_underscore_is_refused(tmp_path, reader):
    features = "id,size\na,1_000\nb,2\nc,3\nd,8\n"
    with pytest.raises(ValueError, match=r"without separators or units, got '1_000'"):
        read_task(**write(tmp_path, edges=EDGES, features=features))
    weights = "source,target,weight\na,b,1_000\nb,c,2\nc,d,1\n"
    with pytest.raises(ValueError, match=r"weight.*'1_000'"):
        read_task(**write(tmp_path, edges=weights))


def test_words_become_columns_and_missing_numbers_the_median(tmp_path, reader):
    features = "id,size,city\na,1,Rome\nb,,Bonn\nc,3,\nd,8,Rome\n"
    task = read_task(**write(tmp_path, edges=EDGES, features=features))
    assert task.feature_names == ("size", "city=Bonn", "city=Rome")
    assert task.features.tolist() == [[1, 0, 1], [3, 1, 0], [3, 0, 0], [8, 0, 1]]
    assert task.categories == ("city",)
    assert task.missing.tolist() == [[1, 0]]
    assert "features.csv: column 'city' is read as a category of 2 words" in task.notes
    assert any(
        "1 missing numbers of 'size' are set to the column's median" in n for n in task.notes
    )


@pytest.mark.parametrize(
    "date",
    [
        "2020-01-0{k}",
        "0{k}/02/2021",
        "2020-01-0{k} 12:30",
        "{k}-Jan-24",
        "{k}. März 2024",
        '"May {k}, 2024"',
        "Dez. 202{k}",
    ],
)
def test_dates_are_refused_with_advice(tmp_path, reader, date):
    rows = "".join(f"{node},{date.format(k=k + 1)}\n" for k, node in enumerate("abcd"))
    with pytest.raises(ValueError, match=r"row 2, column 'since': a date must be given as a num"):
        read_task(**write(tmp_path, edges=EDGES, features="id,since\n" + rows))


def test_names_are_no_category(tmp_path, reader):
    rows = "".join(f"n{k},{k},name {k}\n" for k in range(30))
    edges = "source,target\n" + "".join(f"n{k},n{k + 1}\n" for k in range(29))
    task = read_task(**write(tmp_path, edges=edges, features="id,size,who\n" + rows))
    assert task.feature_names == ("size",)
    assert any("column 'who' has 30 different words for 30 nodes" in note for note in task.notes)


def test_truth_values_are_numbers(tmp_path, reader):
    task = read_task(
        **write(tmp_path, edges=EDGES, features="id,ok\na,true\nb,false\nc,\nd,True\n")
    )
    assert task.feature_names == ("ok",)
    assert task.features.to_dense().flatten().tolist() == [1, 0, 1, 1]


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


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_below_an_unknown_name_are_said(tmp_path, reader, ending):
    """Where `rank` happens to hold other nodes' ids, each node would get a foreign row."""
    paths = write(tmp_path, edges=EDGES, features="rank,node_no,x\na,b,1\nb,a,2\nc,d,3\nd,c,4\n")
    features = tmp_path / f"f.{ending}"
    table = pandas.read_csv(paths["features"])
    table.to_csv(features, index=False) if ending == "csv" else table.to_parquet(features)
    written = f"f.{ending}: column 'rank' is read as the id (--id-column names another)"
    assert written in read_task(paths["edges"], features).notes
    named = read_task(paths["edges"], features, layout=TableLayout(id="node_no"))
    assert not any("read as the id" in note for note in named.notes)


@pytest.mark.parametrize("header", ["id,label", "label,id", "account,fraud"])
def test_columns_of_labels_stand_in_any_order(tmp_path, header):
    rows = [("n1", "x"), ("n2", "y"), ("n3", "x")]
    swapped = header.startswith("label")
    lines = [",".join(reversed(row) if swapped else row) for row in rows]
    path = tmp_path / "labels.csv"
    path.write_text("\n".join([header, *lines]))
    found = read_label_table(path)
    assert list(zip(found.ids.tolist(), found.names, strict=True)) == rows
    guessed = any("column 'account' is read as the id" in note for note in found.notes)
    assert guessed == header.startswith("account")


def test_large_plain_files_take_the_quick_way(tmp_path, monkeypatch):
    """Without lists of text: the careful reader is not even called."""
    monkeypatch.setattr("elasticgnn.data.own.edge_table.read_lines", None)
    monkeypatch.setattr("elasticgnn.data.own.feature_table.read_lines", None)
    count = 40_000
    edges = "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(count - 1))
    rows = "id,size\n" + "".join(f"{k},{k / 7:.4f}\n" for k in range(count))
    task = read_task(**write(tmp_path, edges=edges, features=rows))
    assert task.num_nodes == count
    assert task.graph.num_edges == count - 1


def test_errors_of_large_files_name_the_same_row(tmp_path):
    count = 40_000
    edges = "source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(count)) + "5,x y\n"
    rows = "id,size\n" + "".join(f"{k},{k}\n" for k in range(count + 1))
    with pytest.raises(ValueError, match=rf"row {count + 2}, column 'target': .*got 'x y'"):
        read_task(**write(tmp_path, edges=edges, features=rows))


def test_columns_can_be_named(tmp_path):
    paths = write(
        tmp_path,
        edges="when,buyer,amount,seller\n1,a,2.5,b\n2,b,1,c\n",
        labels="row,who,fraud,year\n1,a,yes,1\n2,b,no,2\n",
    )
    layout = TableLayout(source="buyer", target="seller", weight="amount", id="who", label="fraud")
    task = read_task(**paths, layout=layout)
    assert task.node_ids == ("a", "b", "c")
    assert task.graph.weight.tolist() == [2.5, 1.0]
    assert task.class_names == ("no", "yes")
    with pytest.raises(ValueError, match=r"must have a column 'price' as asked, got 'when'"):
        read_task(**paths, layout=TableLayout(weight="price"))


def test_other_encodings_are_read_and_said(tmp_path):
    edges = "source,target\nMüller,b\nb,Café\n"
    (tmp_path / "edges.csv").write_bytes(edges.encode("latin-1"))
    task = read_task(tmp_path / "edges.csv")
    assert task.node_ids == ("Müller", "b", "Café")
    assert any("row 2 is not UTF-8; read as Windows-1252" in note for note in task.notes)
    (tmp_path / "edges.csv").write_bytes("source,target\nŁódź,b\n".encode("cp1250"))
    task = read_task(tmp_path / "edges.csv", layout=TableLayout(encoding="cp1250"))
    assert task.node_ids == ("Łódź", "b")


def test_excel_files_are_tables(tmp_path):
    book = openpyxl.Workbook()
    for row in (("source", "target", "weight"), (1, 2, 1.5), (None, None, None), (2, 3, 1)):
        book.active.append(row)
    book.create_sheet("other")
    book.save(tmp_path / "edges.xlsx")
    task = read_task(tmp_path / "edges.xlsx")
    assert task.node_ids == (1, 2, 3)
    assert task.graph.weight.tolist() == [1.5, 1.0]
    assert any("only the first of 2 sheets is read, 'Sheet'" in note for note in task.notes)


def test_numbers_to_predict_are_read_as_numbers(tmp_path):
    labels = "id,label\na,1.5\nb,\nc,-2e3\n"
    task = read_task(**write(tmp_path, edges=EDGES, labels=labels), target="number")
    assert task.values.nan_to_num(9).tolist() == [1.5, 9, -2000, 9]
    assert task.labelled.tolist() == [0, 2]
    assert task.num_outputs == 1
    assert any("holds 2 numbers to learn from, -2000 to 1.5" in note for note in task.notes)
    paths = write(tmp_path, edges=EDGES, labels=labels.replace("b,", "b,high"))
    with pytest.raises(ValueError, match=r"row 3, column 'label': a target must be a finite"):
        read_task(**paths, target="number")


def test_ids_that_stand_twice_are_found_in_any_order():
    for ids, differ in (([1, 2, 3], True), ([3, 1, 2], True), ([3, 1, 3], False), ([1, 1], False)):
        assert all_differ(np.array(ids)) == differ
        assert all_differ(text_array([f"n{k}" for k in ids])) == differ


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


def test_numbers_whose_sum_is_too_large_are_still_numbers(tmp_path):
    path = tmp_path / "features.parquet"
    values = np.array([3e38, 3e38, np.nan], dtype=np.float32)
    pandas.DataFrame({"id": [1, 2, 3], "x": values}).to_parquet(path)
    assert read_features(path).values.tolist() == np.float32([[3e38]] * 3).tolist()


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


@pytest.mark.parametrize("rows", [8, 9])
def test_a_table_is_sparse_where_at_most_a_quarter_is_not_zero(rows, monkeypatch):
    monkeypatch.setattr(feature_matrix, "BLOCK", 3)
    values = np.zeros((rows, 4), dtype=np.float32)
    values[:8, 3] = 1.0
    assert feature_matrix.is_mostly_zero(values)
    values[0, 0] = 1.0
    assert feature_matrix.is_mostly_zero(values) == (rows == 9)


@pytest.mark.parametrize("read", [read_edge_table, read_feature_table, read_label_table])
def test_cells_of_several_values_are_refused(tmp_path, read):
    path, cells = tmp_path / "t.parquet", [[0.5, 1.0], [2.0, 3.0], [0.5, 1.0]]
    names = {read_edge_table: "weight", read_feature_table: "vector", read_label_table: "label"}
    table = pandas.DataFrame({"id": [1, 2, 3], "source": [1, 2, 3], "target": [2, 3, 1]})
    table[names[read]] = cells
    table.to_parquet(path)
    with pytest.raises(ValueError, match=rf"column '{names[read]}': a cell must hold one value"):
        read(path)


@pytest.mark.parametrize("kind", ["datetime64[ns]", "timedelta64[ns]", "float64", "boolean"])
def test_a_column_of_any_kind_may_be_empty(tmp_path, kind):
    table = pandas.DataFrame({"id": [1, 2, 3], "x": [0.5, 2, 6], "none": pandas.Series([None] * 3)})
    table["none"] = table["none"].astype(kind)
    table.to_parquet(tmp_path / "f.parquet")
    assert read_features(tmp_path / "f.parquet").names == ("x",)


def test_half_precision_is_read_and_its_infinity_refused(tmp_path, recwarn):
    table = pandas.DataFrame({"id": [1, 2, 3], "x": np.array([0.5, 2, 6e4], dtype=np.float16)})
    table.to_parquet(tmp_path / "f.parquet")
    assert read_features(tmp_path / "f.parquet").values.tolist() == [[0.5], [2], [60000]]
    assert not recwarn.list
    table.loc[1, "x"] = np.float16(np.inf)
    table.to_parquet(tmp_path / "f.parquet")
    with pytest.raises(ValueError, match="row 2, column 'x': a feature must be a finite number"):
        read_features(tmp_path / "f.parquet")


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("name", ["Label", "lABEL", "fraud"])
def test_words_of_parquet_labels_may_be_numbered_by_row_group(tmp_path, name, coded):
    words = ["b", "a", None, " b ", "c", "a"]
    table = pandas.DataFrame({"id": range(6), name: words})
    path, layout = tmp_path / "l.parquet", TableLayout(label=name if name == "fraud" else None)
    table.to_parquet(path, row_group_size=2, use_dictionary=coded)
    assert list(read_label_table(path, layout).names) == ["b", "a", None, "b", "c", "a"]


def test_numbers_of_parquet_labels_may_be_missing_in_any_row_group(tmp_path):
    table = pandas.DataFrame({"id": range(4), "y": pandas.array([1, None, 2, None], "Int64")})
    table.to_parquet(tmp_path / "l.parquet", row_group_size=2)
    assert list(read_label_table(tmp_path / "l.parquet").names) == ["1", None, "2", None]


def test_a_first_line_that_tells_excel_the_delimiter_is_no_row(tmp_path, reader):
    paths = write(tmp_path, edges="sep=;\r\n" + EDGES.replace(",", ";").replace("\n", "\r\n"))
    task = read_task(**paths)
    assert task.node_ids == ("a", "b", "c", "d")
    paths["edges"].write_text("SEP=,\n" + EDGES + "d,\n")
    with pytest.raises(ValueError, match="row 6, column 'target': a node id must be there"):
        read_task(**paths)


def test_ids_that_are_written_in_two_ways_are_shown_side_by_side(tmp_path, reader):
    paths = write(tmp_path, edges="payer,payee\n01,02\n02,03\n", features="id,x\n1,5\n2,6\n3,7\n")
    with pytest.raises(ValueError, match=r"column 'payer': .* is '01', there '1'; --id-column"):
        read_task(**paths)
    paths = write(tmp_path, edges="payer,payee\n1,2\n2,4\n", features="id,x\n1,5\n2,6\n3,7\n")
    with pytest.raises(ValueError, match="row 3, column 'payee': the node must have features"):
        read_task(**paths)
    paths = write(
        tmp_path, edges="source,target\n1.0,2.0\n2.0,3.0\n", labels="id,label\n1,a\n2,b\n"
    )
    with pytest.raises(ValueError, match=r"is '1', there '1.0'; --id-column"):
        read_task(paths["edges"], labels=paths["labels"])
