"""Columns of words, of missing numbers, of dates, of several kinds of files."""

import numpy as np
import openpyxl
import pandas
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.own import arrow_csv, feature_matrix
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.ids import all_differ, text_array
from elasticgnn.data.own.label_table import read_label_table
from elasticgnn.data.own.layout import TableLayout
from elasticgnn.data.own.read_task import read_features
from written_tables import write_tables

EDGES = "source,target\na,b\nb,c\nc,d\n"


@pytest.fixture(params=["text", "arrow"])
def reader(request, monkeypatch):
    """Every file by the careful reader, and every file by pyarrow's."""
    size = 10**9 if request.param == "text" else 0
    monkeypatch.setattr(arrow_csv.open_plain, "__kwdefaults__", {"smallest": size})
    return request.param


def test_a_number_with_an_underscore_is_refused(tmp_path, reader):
    features = "id,size\na,1_000\nb,2\nc,3\nd,8\n"
    with pytest.raises(ValueError, match=r"without separators or units, got '1_000'"):
        read_task(**write_tables(tmp_path, edges=EDGES, features=features))
    weights = "source,target,weight\na,b,1_000\nb,c,2\nc,d,1\n"
    with pytest.raises(ValueError, match=r"weight.*'1_000'"):
        read_task(**write_tables(tmp_path, edges=weights))


def test_words_become_columns_and_missing_numbers_the_median(tmp_path, reader):
    features = "id,size,city\na,1,Rome\nb,,Bonn\nc,3,\nd,8,Rome\n"
    task = read_task(**write_tables(tmp_path, edges=EDGES, features=features))
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
        read_task(**write_tables(tmp_path, edges=EDGES, features="id,since\n" + rows))


def test_names_are_no_category(tmp_path, reader):
    rows = "".join(f"n{k},{k},name {k}\n" for k in range(30))
    edges = "source,target\n" + "".join(f"n{k},n{k + 1}\n" for k in range(29))
    task = read_task(**write_tables(tmp_path, edges=edges, features="id,size,who\n" + rows))
    assert task.feature_names == ("size",)
    assert any("column 'who' has 30 different words for 30 nodes" in note for note in task.notes)


def test_truth_values_are_numbers(tmp_path, reader):
    task = read_task(
        **write_tables(tmp_path, edges=EDGES, features="id,ok\na,true\nb,false\nc,\nd,True\n")
    )
    assert task.feature_names == ("ok",)
    assert task.features.to_dense().flatten().tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ids_below_an_unknown_name_are_said(tmp_path, reader, ending):
    """Where `rank` happens to hold other nodes' ids, each node would get a foreign row."""
    paths = write_tables(
        tmp_path, edges=EDGES, features="rank,node_no,x\na,b,1\nb,a,2\nc,d,3\nd,c,4\n"
    )
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


def test_columns_can_be_named(tmp_path):
    paths = write_tables(
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
    task = read_task(**write_tables(tmp_path, edges=EDGES, labels=labels), target="number")
    assert task.values.nan_to_num(9).tolist() == [1.5, 9, -2000, 9]
    assert task.labelled.tolist() == [0, 2]
    assert task.num_outputs == 1
    assert any("holds 2 numbers to learn from, -2000 to 1.5" in note for note in task.notes)
    paths = write_tables(tmp_path, edges=EDGES, labels=labels.replace("b,", "b,high"))
    with pytest.raises(ValueError, match=r"row 3, column 'label': a target must be a finite"):
        read_task(**paths, target="number")


def test_ids_that_stand_twice_are_found_in_any_order():
    for ids, differ in (([1, 2, 3], True), ([3, 1, 2], True), ([3, 1, 3], False), ([1, 1], False)):
        assert all_differ(np.array(ids)) == differ
        assert all_differ(text_array([f"n{k}" for k in ids])) == differ


def test_numbers_whose_sum_is_too_large_are_still_numbers(tmp_path):
    path = tmp_path / "features.parquet"
    values = np.array([3e38, 3e38, np.nan], dtype=np.float32)
    pandas.DataFrame({"id": [1, 2, 3], "x": values}).to_parquet(path)
    assert read_features(path).values.tolist() == np.float32([[3e38]] * 3).tolist()


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
    paths = write_tables(
        tmp_path, edges="sep=;\r\n" + EDGES.replace(",", ";").replace("\n", "\r\n")
    )
    task = read_task(**paths)
    assert task.node_ids == ("a", "b", "c", "d")
    paths["edges"].write_text("SEP=,\n" + EDGES + "d,\n")
    with pytest.raises(ValueError, match="row 6, column 'target': a node id must be there"):
        read_task(**paths)


def test_ids_that_are_written_in_two_ways_are_shown_side_by_side(tmp_path, reader):
    paths = write_tables(
        tmp_path, edges="payer,payee\n01,02\n02,03\n", features="id,x\n1,5\n2,6\n3,7\n"
    )
    with pytest.raises(ValueError, match=r"column 'payer': .* is '01' \(there is '1'\)"):
        read_task(**paths)
    paths = write_tables(
        tmp_path, edges="payer,payee\n1,2\n2,4\n", features="id,x\n1,5\n2,6\n3,7\n"
    )
    with pytest.raises(ValueError, match="row 3, column 'payee': the node must have features"):
        read_task(**paths)
    paths = write_tables(
        tmp_path, edges="source,target\n1.0,2.0\n2.0,3.0\n", labels="id,label\n1,a\n2,b\n"
    )
    with pytest.raises(ValueError, match=r"is '1' \(there is '1\.0'\)"):
        read_task(paths["edges"], labels=paths["labels"])


@pytest.mark.parametrize(
    ("header", "ends"),
    [
        ("a,b,target", (0, 1)),
        ("from,to,source", (0, 1)),
        ("source,src,dst", (1, 2)),
        ("Source,Airline,Destination", (0, 2)),
        ("origin,destination,from", (0, 1)),
        ("target,source", (1, 0)),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_ends_whose_names_belong_together_go_first(tmp_path, header, ends, ending, reader):
    rows = [["0", "2", "4"], ["2", "4", "6"], ["4", "6", "0"]]
    names, path = header.split(","), tmp_path / f"edges.{ending}"
    table = pandas.DataFrame([row[: len(names)] for row in rows], columns=names)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    found = read_edge_table(path)
    assert found.source.tolist() == [int(row[ends[0]]) for row in rows]
    assert found.target.tolist() == [int(row[ends[1]]) for row in rows]
