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
