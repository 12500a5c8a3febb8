"""What people have: packed files, other signs between columns, other programs' graphs."""

import gzip
import json
import zipfile

import networkx
import numpy as np
import pytest
from scipy import io, sparse

from elasticgnn.data import read_task

EDGES = "source,target,weight\np1,p2,1.5\np2,p3,2\np3,p1,1\n"


def weights(task):
    ids = task.node_ids
    ends = zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True)
    pairs = (frozenset((str(ids[a]), str(ids[b]))) for a, b in ends)
    return dict(zip(pairs, task.graph.weight.tolist(), strict=True))


PAIRS = (("p1", "p2"), ("p2", "p3"), ("p3", "p1"))
EXPECTED = dict(zip(map(frozenset, PAIRS), (1.5, 2.0, 1.0), strict=True))


def as_gz(folder):
    (folder / "e.csv.gz").write_bytes(gzip.compress(EDGES.encode()))
    return folder / "e.csv.gz"


def as_zip(folder):
    with zipfile.ZipFile(folder / "e.zip", "w") as archive:
        archive.writestr("edges.csv", EDGES)
    return folder / "e.zip"


def written(name, text, encoding="utf-8"):
    def write(folder):
        (folder / name).write_text(text, encoding)
        return folder / name

    return write


def network(folder, write, name):
    graph = networkx.Graph()
    for a, b, weight in (("p1", "p2", 1.5), ("p2", "p3", 2.0), ("p3", "p1", 1.0)):
        graph.add_edge(a, b, weight=weight)
    write(graph, folder / name)
    return folder / name


def as_json(graph, path):
    path.write_text(json.dumps(networkx.node_link_data(graph, edges="links")))


@pytest.mark.parametrize(
    "make",
    [
        as_gz,
        as_zip,
        written("e.csv", EDGES.replace(".", "!").replace(",", ";").replace("!", ",")),
        written("e.csv", EDGES.replace(",", "\t")),
        written("e.csv", EDGES, "utf-16"),
        written("e.txt", "# Nodes: 3\n# FromNodeId ToNodeId\np1 p2 1.5\np2  p3 2\np3 p1 1\n"),
        written("e.csv", EDGES.replace("source", ":START_ID(P)").replace("target", ":END_ID(P)")),
        written("e.csv", '"source","target","weight"\n"p1","p2","1.5"\n"p2","p3",2\n"p3","p1",1\n'),
        lambda folder: network(folder, networkx.write_gexf, "e.gexf"),
        lambda folder: network(folder, networkx.write_gml, "e.gml"),
        lambda folder: network(folder, as_json, "e.json"),
    ],
    ids=[
        "gz",
        "zip",
        "semicolons",
        "tabs",
        "utf-16",
        "snap",
        "neo4j",
        "quotes",
        "gexf",
        "gml",
        "json",
    ],
)
def test_the_same_edges_in_every_form(make, tmp_path):
    assert weights(read_task(make(tmp_path))) == EXPECTED


def test_gml_brings_numbers_and_classes(tmp_path):
    graph = networkx.cycle_graph(8)
    for node in graph:
        graph.nodes[node].update({"size": node / 2, "class": "ab"[node % 2]})
    networkx.write_gml(graph, tmp_path / "g.gml")
    task = read_task(tmp_path / "g.gml")
    assert task.feature_names == ("size",)
    assert task.features.flatten().tolist() == [node / 2 for node in range(8)]
    assert task.class_names == ("a", "b")


def test_gml_nodes_are_called_by_their_labels_where_these_differ(tmp_path):
    """networkx counts nodes from 0 in `id`, so that classes of 1, 2, 3 would go to 2, 3, 4."""
    graph = networkx.relabel_nodes(networkx.path_graph(4), {k: k + 1 for k in range(4)})
    networkx.write_gml(graph, tmp_path / "g.gml")
    (tmp_path / "l.csv").write_text("id,label\n1,a\n2,b\n3,b\n")
    task = read_task(tmp_path / "g.gml", labels=tmp_path / "l.csv")
    assert task.node_ids == (1, 2, 3, 4)
    assert task.labels.tolist() == [0, 1, 1, -1]
    (tmp_path / "g.gml").write_text(
        (tmp_path / "g.gml").read_text().replace('label "4"', 'label "1"')
    )
    assert read_task(tmp_path / "g.gml").node_ids == (0, 1, 2, 3)


def test_matrix_market_counts_from_one(tmp_path):
    matrix = sparse.coo_array(np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]], dtype=float))
    io.mmwrite(tmp_path / "m.mtx", matrix)
    found = weights(read_task(tmp_path / "m.mtx"))
    assert found == {frozenset("12"): 1.0, frozenset("23"): 2.0}


def test_neo4j_nodes_are_features_and_labels(tmp_path):
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "f.csv").write_text("id:ID(P),age:int\np1,3\np2,4\np3,5\n")
    (tmp_path / "l.csv").write_text("id:ID,:LABEL\np1,a\np2,b\n")
    task = read_task(tmp_path / "e.csv", tmp_path / "f.csv", tmp_path / "l.csv")
    assert task.feature_names == ("age",)
    assert task.class_names == ("a", "b")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv.gz", b"no gzip", r"must be a whole \.gz file"),
        ("e.csv.gz", gzip.compress(EDGES.encode(), mtime=0)[:-12], r"must be a whole \.gz file"),
        ("e.zip", b"no zip", "must be a zip file"),
        ("e.parquet.gz", b"x", "must end in"),
        ("e.gml", b"graph [", "must be a GML graph"),
        ("e.gexf", b"<gexf", "must be a GEXF graph"),
        ("e.json", b"{}", "must be a JSON graph"),
        ("e.json", b"[1, 2]", "must be a JSON graph"),
        ("e.mtx", b"%%MatrixMarket\n", "must be a Matrix Market file"),
    ],
)
def test_broken_ones_are_one_line(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_task(tmp_path / name)
