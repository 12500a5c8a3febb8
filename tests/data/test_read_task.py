"""One's own files in every format: the same task comes out."""

import networkx
import numpy as np
import pandas
import pytest
import torch
from scipy import sparse

from elasticgnn.data import NodeTask, read_task
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.features import SparseFeatures

EDGES = [("ann", "bob", 1.0), ("bob", "cy", 2.5), ("cy", "dan", 0.5), ("dan", "ann", 1.0)]
ROWS = {"dan": [0.0, 4.0], "ann": [1.0, 2.0], "bob": [3.0, 0.5], "cy": [-1.0, 1.0]}
CLASSES = {"ann": "red", "cy": "blue", "dan": ""}


def write_csv(path, header, rows, delimiter=","):
    lines = [delimiter.join(map(str, row)) for row in ([header] if header else []) + list(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_parquet(path, header, rows):
    pandas.DataFrame(list(rows), columns=list(header)).to_parquet(path)
    return path


def write_all(folder, ending):
    """The three files of the example, as CSV, TSV or Parquet."""
    tables = {
        "edges": (("source", "target", "weight"), EDGES),
        "features": (("id", "size", "age"), [(node, *row) for node, row in ROWS.items()]),
        "labels": (("id", "label"), [(n, name or None) for n, name in CLASSES.items()]),
    }
    paths = []
    for name, (header, rows) in tables.items():
        path = folder / f"{name}.{ending}"
        if ending == "parquet":
            paths.append(write_parquet(path, header, rows))
        else:
            plain = [["" if cell is None else cell for cell in row] for row in rows]
            paths.append(write_csv(path, header, plain, "\t" if ending == "tsv" else ","))
    return paths


def edge_weights(task):
    ids = task.node_ids
    ends = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    pairs = (frozenset((ids[a], ids[b])) for a, b in ends)
    return dict(zip(pairs, task.graph.weight.tolist(), strict=True))


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_of_every_kind_give_the_same_task(tmp_path, ending):
    task = read_task(*write_all(tmp_path, ending))
    assert task.node_ids == ("dan", "ann", "bob", "cy")
    assert edge_weights(task) == {frozenset((a, b)): weight for a, b, weight in EDGES}
    assert task.features.tolist() == list(ROWS.values())
    assert task.class_names == ("blue", "red")
    assert task.labels.tolist() == [-1, 1, -1, 0]


def test_without_features_stand_ins_are_made_and_said(tmp_path):
    edges, _, labels = write_all(tmp_path, "csv")
    task = read_task(edges, labels=labels)
    assert task.node_ids == ("ann", "bob", "cy", "dan")
    assert isinstance(task.features, SparseFeatures)
    assert torch.equal(task.features.to_dense()[:, :4], torch.eye(4))
    assert any("no features given" in note for note in task.notes)


def test_without_labels_nothing_is_known(tmp_path):
    task = read_task(write_all(tmp_path, "csv")[0])
    assert task.labels.tolist() == [-1] * 4
    assert task.num_classes == 0


def test_whole_numbers_become_numbers_in_order(tmp_path):
    path = write_csv(tmp_path / "edges.csv", None, [(30, 4), (4, 5)])
    task = read_task(path, labels=write_csv(tmp_path / "l.csv", None, [(30, 10), (4, 9)]))
    assert task.node_ids == (4, 5, 30)
    assert task.class_names == ("9", "10")  # by size, not by letters
    assert task.labels.tolist() == [0, -1, 1]


def test_leading_zeros_stay_text(tmp_path):
    task = read_task(write_csv(tmp_path / "edges.csv", None, [("007", "8"), ("7", "8")]))
    assert task.node_ids == ("007", "8", "7")


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (("source", "target"), [("a", "b")]),
        (("from", "to", "weight"), [("a", "b", 1)]),
        (("weight", "src", "dst"), [(1, "a", "b")]),
        (("Source", "TARGET", "year"), [("a", "b", 1999)]),
        (("person", "friend"), [(1, 2), (2, 3)]),
        (("u", "v"), [("a", "b"), ("b", "c")]),
        (("person", "friend", "weight"), [(1, 2, 1)]),
        (None, [("a", "b"), ("b", "c")]),
        (None, [("a", "b", 1), ("b", "c", 1)]),
        (None, [(1, 2), (2, 3)]),
        (None, [("a", "b"), ("b", "a")]),
    ],
)
def test_headers_are_distinguished_from_data(tmp_path, header, rows):
    found = read_edge_table(write_csv(tmp_path / "edges.csv", header, rows))
    assert len(found.source) == len(rows)
    assert {*map(str, found.source), *map(str, found.target)} <= set("abc123")


def test_unused_columns_are_said(tmp_path):
    path = write_csv(tmp_path / "edges.csv", ("source", "target", "year"), [("a", "b", 1999)])
    task = read_task(path)
    assert task.graph.weight.tolist() == [1.0]
    assert "edges.csv: columns not used: 'year'" in task.notes


def test_repeated_rows_add_up_and_loops_leave_with_a_note(tmp_path):
    rows = [("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "c")]
    task = read_task(write_csv(tmp_path / "edges.csv", None, rows))
    assert edge_weights(task) == {frozenset("ab"): 3.0, frozenset("bc"): 1.0}
    assert any("1 self-loops dropped" in note for note in task.notes)
    assert any("2 rows name a pair again" in note for note in task.notes)


def test_edges_of_weight_0_join_nothing_and_are_said(tmp_path):
    rows = [("a", "b", 2), ("b", "c", 0), ("c", "d", 0)]
    task = read_task(write_csv(tmp_path / "edges.csv", ("source", "target", "weight"), rows))
    assert "edges.csv: 2 edges have weight 0 and join nothing" in task.notes
    assert "edges.csv: 2 of 4 nodes have no edge" in task.notes


def test_a_symmetric_listing_counts_each_edge_once(tmp_path):
    rows = [("a", "b", 2), ("b", "a", 2), ("b", "c", 1), ("c", "b", 1)]
    task = read_task(write_csv(tmp_path / "edges.csv", None, rows))
    assert edge_weights(task) == {frozenset("ab"): 2.0, frozenset("bc"): 1.0}


def test_blank_lines_quotes_spaces_and_a_byte_order_mark_do_no_harm(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_bytes('\ufeffsource,target\r\n\r\n"Smith, Ann" , bob\r\nbob,cy\r\n\r\n'.encode())
    assert read_task(path).node_ids == ("Smith, Ann", "bob", "cy")


def test_isolated_nodes_come_from_the_feature_file(tmp_path):
    edges = write_csv(tmp_path / "edges.csv", None, [("a", "b")])
    features = write_csv(tmp_path / "f.csv", None, [("z", 1), ("a", 2), ("b", 3)])
    task = read_task(edges, features)
    assert task.node_ids == ("z", "a", "b")
    assert task.graph.num_components == 2


def test_large_features_are_kept_and_said(tmp_path):
    edges = write_csv(tmp_path / "edges.csv", None, [("p", "q")])
    task = read_task(edges, write_csv(tmp_path / "f.csv", None, [("p", 5e4), ("q", 1)]))
    assert task.features.flatten().tolist() == [5e4, 1]
    assert any("f.csv: values reach 5e+04" in note for note in task.notes)


def test_mostly_empty_tables_stay_sparse(tmp_path):
    edges = write_csv(tmp_path / "edges.csv", None, [(0, 1), (1, 2), (2, 3), (3, 4)])
    rows = [(k, *(1 if k == j else 0 for j in range(5))) for k in range(5)]
    task = read_task(edges, write_csv(tmp_path / "f.csv", None, rows))
    assert isinstance(task.features, SparseFeatures)
    assert torch.equal(task.features.to_dense(), torch.eye(5))


SYMMETRIC = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]], dtype=float))


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_saved_scipy_matrices_are_edges_and_features(tmp_path, form):
    sparse.save_npz(tmp_path / "edges.npz", SYMMETRIC.asformat(form))
    other = sparse.csr_array([[1.0, 0, 0, 0], [0, 0, 2, 0], [0, 3, 0, 0]])
    sparse.save_npz(tmp_path / "features.npz", other.asformat(form))
    np.savez(tmp_path / "labels.npz", labels=np.array([4, -1, 2]))
    task = read_task(*(tmp_path / f"{name}.npz" for name in ("edges", "features", "labels")))
    assert edge_weights(task) == {frozenset((0, 1)): 1.0, frozenset((1, 2)): 2.0}
    assert (task.features.to_dense().numpy() == other.toarray()).all()
    assert task.class_names == ("2", "4")
    assert task.labels.tolist() == [1, -1, 0]


def test_one_archive_can_hold_everything(tmp_path):
    np.savez(
        tmp_path / "all.npz",
        edge_index=np.array([[0, 1], [1, 2]]),
        edge_weight=np.array([1.0, 3.0]),
        x=np.eye(3),
        y=np.array(["u", "v", ""]),
        node_ids=np.array(["p", "q", "r"]),
    )
    task = read_task(tmp_path / "all.npz")
    assert edge_weights(task) == {frozenset("pq"): 1.0, frozenset("qr"): 3.0}
    assert torch.equal(task.features, torch.eye(3))
    assert task.labels.tolist() == [0, 1, -1]


def test_graphml_brings_weights_numbers_and_labels(tmp_path):
    graph = networkx.Graph()
    graph.add_node("p", label="u", size=1.5, home="x")
    graph.add_node("q", label="v", size=2.0, home="y")
    graph.add_node("r", size=-1.0, home="y")
    graph.add_edge("p", "q", weight=2.0)
    graph.add_edge("q", "r", weight=1.0)
    networkx.write_graphml(graph, tmp_path / "graph.graphml")
    task = read_task(tmp_path / "graph.graphml")
    assert edge_weights(task) == {frozenset("pq"): 2.0, frozenset("qr"): 1.0}
    assert task.features.flatten().tolist() == [1.5, 2.0, -1.0]
    assert task.class_names == ("u", "v")
    assert task.labels.tolist() == [0, 1, -1]


def test_a_hundred_thousand_edges_are_read_within_seconds(tmp_path):
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 20000, (100_000, 2))
    path = tmp_path / "edges.csv"
    path.write_text("\n".join(f"n{a},n{b}" for a, b in rows))
    task = read_task(path)
    assert isinstance(task, NodeTask)
    pairs = {(min(a, b), max(a, b)) for a, b in rows.tolist() if a != b}
    assert task.graph.num_edges == len(pairs)


def test_bytes_and_dates_are_ids_too(tmp_path):
    path = tmp_path / "edges.parquet"
    pandas.DataFrame({"source": [b"a", b"b"], "target": [b"b", b"c"]}).to_parquet(path)
    assert read_task(path).node_ids == ("a", "b", "c")
    days = pandas.to_datetime(["2020-01-01", "2020-01-02"])
    pandas.DataFrame({"source": days, "target": days[::-1]}).to_parquet(path)
    assert len(read_task(path).node_ids) == 2
