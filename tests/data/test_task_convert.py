"""Tasks from and to the forms other libraries use."""

import networkx
import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from elasticgnn.data import NodeTask, Split, block_model, paper_split
from elasticgnn.features import SparseFeatures


def made_up():
    return block_model([6, 5], torch.Generator().manual_seed(0), inside=0.6)


def test_torch_geometric_and_back_is_the_same_data():
    task = made_up()
    task = task.with_split(paper_split(task, torch.Generator().manual_seed(1)))
    back = NodeTask.from_pyg(task.to_pyg())
    assert back.graph.fingerprint == task.graph.fingerprint
    assert torch.equal(back.features, task.features)
    assert torch.equal(back.labels, task.labels)
    parts = (sorted(nodes) for nodes in task.split.to_lists().values())
    assert list(back.split.to_lists().values()) == list(parts)


def test_torch_geometric_with_unknown_labels_and_no_features():
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    task = NodeTask.from_pyg(Data(edge_index=edges, num_nodes=3, y=torch.tensor([1, -1, 0])))
    assert task.labels.tolist() == [1, -1, 0]
    assert task.num_classes == 2
    assert "no features given" in task.notes[0]


def test_torch_geometric_with_sparse_features():
    edges = torch.tensor([[0, 1], [1, 0]])
    task = NodeTask.from_pyg(Data(edge_index=edges, x=torch.eye(2).to_sparse_csr(), num_nodes=2))
    assert isinstance(task.features, SparseFeatures)
    assert torch.equal(task.features.to_dense(), torch.eye(2))


def test_a_one_way_torch_geometric_graph_is_refused():
    with pytest.raises(ValueError, match="direction"):
        NodeTask.from_pyg(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))


def test_networkx_and_back_is_the_same_data():
    task = made_up()
    back = NodeTask.from_networkx(task.to_networkx())
    assert back.graph.fingerprint == task.graph.fingerprint
    assert back.class_names == task.class_names
    assert torch.equal(back.labels, task.labels)
    torch.testing.assert_close(back.features, task.features)


def test_networkx_keeps_node_names_and_missing_labels():
    graph = networkx.karate_club_graph()
    networkx.set_node_attributes(graph, {0: "x", 33: "y"}, "side")
    task = NodeTask.from_networkx(graph, label="side")
    assert task.node_ids == tuple(range(34))
    assert task.class_names == ("x", "y")
    assert task.labelled.tolist() == [0, 33]


def test_scipy_gives_sparse_features_and_sorted_classes():
    adjacency = sparse.csr_array(np.array([[0, 1.0], [1, 0]]))
    task = NodeTask.from_scipy(adjacency, sparse.eye_array(2), ["b", None])
    assert isinstance(task.features, SparseFeatures)
    assert task.labels.tolist() == [0, -1]
    numbers = NodeTask.from_scipy(adjacency, np.eye(2), np.array([10, 9]))
    assert numbers.class_names == ("9", "10")
    assert NodeTask.from_scipy(adjacency, labels=np.array([3, -1])).labels.tolist() == [0, -1]


def test_scipy_labels_must_fit_the_graph():
    with pytest.raises(ValueError, match=r"labels must be \(2,\)"):
        NodeTask.from_scipy(sparse.csr_array(np.array([[0, 1.0], [1, 0]])), labels=["a"])


def test_a_split_of_unequal_masks_is_left_out():
    edges = torch.tensor([[0, 1], [1, 0]])
    data = Data(edge_index=edges, num_nodes=2, train_mask=torch.ones(2, 3, dtype=torch.bool))
    assert NodeTask.from_pyg(data).split is None
    assert isinstance(Split.from_lists({"train": [0], "val": [], "test": [1]}), Split)


def test_scipy_and_back_is_the_same_data():
    task = made_up()
    adjacency, features, labels = task.to_scipy()
    back = NodeTask.from_scipy(adjacency, features, labels)
    assert back.fingerprint == task.fingerprint
    words = NodeTask.from_scipy(adjacency, sparse.csr_array(features), [*"ab" * 5, None])
    _, kept, names = words.to_scipy()
    assert sparse.issparse(kept)
    assert names == [*"ab" * 5, None]


PAIR = sparse.csr_array(np.array([[0, 1.0], [1, 0]]))


@pytest.mark.parametrize(
    "labels", [["a", float("nan")], torch.tensor([3, -1]), np.array([2.0, np.nan])]
)
def test_nan_and_minus_one_are_unknown_labels_in_every_array(labels):
    task = NodeTask.from_scipy(PAIR, labels=labels)
    assert task.labels.tolist() == [0, -1]
    assert task.class_names in (("a",), ("3",), ("2.0",))


def test_torch_geometric_labels_may_be_floating_point_or_a_column():
    edges = torch.tensor([[0, 1], [1, 0]])
    y = torch.tensor([[1.0], [torch.nan]])
    assert NodeTask.from_pyg(Data(edge_index=edges, y=y, num_nodes=2)).labels.tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"y must be \(2,\) whole numbers"):
        NodeTask.from_pyg(Data(edge_index=edges, y=torch.ones(2, 2), num_nodes=2))
    with pytest.raises(ValueError, match=r"y must be \(2,\) whole numbers"):
        NodeTask.from_pyg(Data(edge_index=edges, y=torch.tensor([0.5, 1]), num_nodes=2))


def test_networkx_attributes_that_are_no_numbers_are_named():
    graph = networkx.path_graph(2)
    networkx.set_node_attributes(graph, {0: [1.0, 2.0], 1: [1.0]}, "x")
    with pytest.raises(ValueError, match="'x' of node 1 must be 2 numbers"):
        NodeTask.from_networkx(graph)
    graph.nodes[1]["x"] = "tall"
    with pytest.raises(ValueError, match="'x' of node 1 must be 2 numbers"):
        NodeTask.from_networkx(graph)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_features_must_be_finite_wherever_they_come_from(value):
    edges = torch.tensor([[0, 1], [1, 0]])
    x = torch.tensor([[1.0, 2.0], [3.0, value]])
    with pytest.raises(ValueError, match=r"must be finite, got (nan|inf) in row 1, column 1"):
        NodeTask.from_pyg(Data(edge_index=edges, x=x))
    with pytest.raises(ValueError, match="in row 1, column 1"):
        NodeTask.from_pyg(Data(edge_index=edges, x=x.to_sparse(), num_nodes=2))
    with pytest.raises(ValueError, match="in row 1, column 1"):
        NodeTask.from_scipy(PAIR, x.numpy())
