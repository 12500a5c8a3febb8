"""Attributes of graph files: which are the labels, and what one may name oneself."""

import json

import networkx
import numpy as np
import pytest

from elasticgnn.data import read_task
from elasticgnn.data.own.layout import TableLayout

WRITERS = {
    "gexf": networkx.write_gexf,
    "graphml": networkx.write_graphml,
    "json": lambda graph, path: path.write_text(json.dumps(networkx.node_link_data(graph))),
}


def ring(count=12):
    """A ring whose nodes have a kind, a price and a size; edges have a weight and an amount."""
    graph = networkx.cycle_graph(count)
    for node, data in graph.nodes(data=True):
        data |= {"kind": "ab"[node % 2], "price": 10.5 * node, "size": float(node)}
    for number, (_, _, data) in enumerate(graph.edges(data=True)):
        data |= {"weight": 1.0, "amount": 2.0 + number}
    return graph


@pytest.fixture(params=WRITERS)
def written(request, tmp_path):
    path = tmp_path / f"graph.{request.param}"
    WRITERS[request.param](ring(), path)
    return path


def test_a_gexf_node_whose_label_is_its_own_id_has_no_class(tmp_path):
    """networkx and Gephi write the id where a node has no label."""
    graph = networkx.cycle_graph(40)
    for node in range(30):
        graph.nodes[node]["label"] = "uv"[node % 2]
    networkx.write_gexf(graph, tmp_path / "graph.gexf")
    task = read_task(tmp_path / "graph.gexf")
    assert task.class_names == ("u", "v")
    assert len(task.labelled) == 30
    assert any("the label of 10 nodes is their own id" in note for note in task.notes)


def test_classes_that_are_called_like_some_nodes_stay_classes(tmp_path):
    graph = networkx.cycle_graph(12)
    for node in graph:
        graph.nodes[node]["label"] = str(node % 2)
    networkx.write_gexf(graph, tmp_path / "graph.gexf")
    assert len(read_task(tmp_path / "graph.gexf").labelled) == 12


def test_the_attribute_of_the_labels_can_be_named_and_is_no_feature(written):
    task = read_task(written, layout=TableLayout(label="kind"))
    assert task.class_names == ("a", "b")
    assert task.labels.tolist() == [0, 1] * 6
    numbers = read_task(written, target="number", layout=TableLayout(label="price"))
    assert numbers.values.tolist() == [10.5 * node for node in range(12)]
    assert numbers.feature_names == ("size",)


def test_the_attribute_of_the_weights_can_be_named(written):
    assert set(read_task(written).graph.weight.tolist()) == {1.0}
    named = read_task(written, layout=TableLayout(weight="amount"))
    assert sorted(named.graph.weight.tolist()) == [2.0 + k for k in range(12)]


def test_further_attributes_are_kept_for_splits_and_are_no_features(written):
    task = read_task(written, layout=TableLayout(label="kind", further=("price",)))
    assert float(task.label_columns["price"][2]) == 21.0
    assert task.feature_names == ("size",)


@pytest.mark.parametrize("name", ["label", "weight", "further"])
def test_an_attribute_that_is_not_there_is_refused(written, name):
    layout = TableLayout(**{name: ("rank",) if name == "further" else "rank"})
    with pytest.raises(ValueError, match="must have an attribute 'rank', got"):
        read_task(written, layout=layout)


def test_numbers_to_predict_are_found_by_the_usual_names(tmp_path):
    graph = ring()
    for node, data in graph.nodes(data=True):
        data["y"] = 1.25 * node
    networkx.write_graphml(graph, tmp_path / "graph.graphml")
    task = read_task(tmp_path / "graph.graphml", target="number")
    assert task.values.tolist() == [1.25 * node for node in range(12)]


@pytest.mark.parametrize(
    ("layout", "option"),
    [
        (TableLayout(source="a", target="b"), "--source-column"),
        (TableLayout(weight="a"), "--weight-column"),
        (TableLayout(id="a"), "--id-column"),
        (TableLayout(label="a"), "--label-column"),
        (TableLayout(encoding="latin-1"), "--encoding"),
    ],
)
def test_names_of_columns_that_no_file_has_are_refused(tmp_path, layout, option):
    np.savez(tmp_path / "graph.npz", edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, 0]))
    with pytest.raises(ValueError, match=f"{option} must be given with a file that it can be of"):
        read_task(tmp_path / "graph.npz", layout=layout)


def test_rows_of_an_archive_are_those_of_a_matrix_of_edges(tmp_path):
    """Matrix Market counts from 1, an archive from 0: by place they are the same nodes."""
    (tmp_path / "edges.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    )
    np.savez(tmp_path / "x.npz", x=np.arange(3.0)[:, None])
    np.savez(tmp_path / "y.npz", y=np.array([0, 1, 0]))
    task = read_task(tmp_path / "edges.mtx", tmp_path / "x.npz", tmp_path / "y.npz")
    assert task.node_ids == (1, 2, 3)
    assert task.features.flatten().tolist() == [0.0, 1.0, 2.0]
    assert task.labels.tolist() == [0, 1, 0]
    assert any("its rows are nodes 1, 2, 3, … of edges.mtx" in note for note in task.notes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.gml", "graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 value 2.5 ] ]"),
        (
            "g.json",
            '{"nodes": [{"id": 1}, {"id": 2}], '
            '"links": [{"source": 1, "target": 2, "id": 7, "key": 0, "value": 2.5}]}',
        ),
        (
            "g.graphml",
            '<graphml><key id="v" for="edge" attr.name="value" attr.type="double"/>'
            '<graph edgedefault="undirected"><node id="1"/><node id="2"/>'
            '<edge source="1" target="2"><data key="v">2.5</data></edge></graph></graphml>',
        ),
    ],
)
def test_attributes_of_edges_that_are_no_weight_are_noted(tmp_path, name, text):
    """Many GML files call the weight `value`: left out with nothing said, all edges weigh 1."""
    (tmp_path / name).write_text(text)
    note = f"{name}: attributes of edges not used: 'value'"
    assert note in read_task(tmp_path / name).notes
    weighted = read_task(tmp_path / name, layout=TableLayout(weight="value"))
    assert note not in weighted.notes
    assert weighted.graph.weight.tolist() == [2.5]
