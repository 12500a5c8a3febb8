"""Tasks and splits as values: what they check, and what their fingerprints see."""

from dataclasses import replace

import pytest
import torch

from elasticgnn.data import NodeTask, Split, block_model
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

PATH = Graph.from_edge_index(torch.tensor([[0, 1], [1, 2]]), 4, undirected=True)


def small_task(**changes):
    fields = {
        "name": "small",
        "graph": PATH,
        "features": torch.eye(4),
        "labels": torch.tensor([0, 1, -1, 1]),
        "class_names": ("a", "b"),
    }
    return NodeTask(**{**fields, **changes})


def test_sizes_are_those_of_the_parts():
    task = small_task(features=SparseFeatures.identity(4))
    assert (task.num_nodes, task.num_features, task.num_classes) == (4, 4, 2)
    assert task.labelled.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": torch.eye(3)}, r"features must be \(4, f\)"),
        ({"labels": torch.tensor([0, 1])}, r"labels must be \(4,\) int64"),
        ({"labels": torch.tensor([0, 1, 2, 0])}, r"labels must be in -1..1, got 0..2"),
        ({"labels": torch.tensor([0, 1, -2, 0])}, r"labels must be in -1..1"),
        ({"labels": torch.zeros(4)}, "int64"),
        ({"node_ids": ("x",)}, "node_ids must be 4 ids"),
        ({"split_rule": "fixed"}, "split must be given"),
        ({"split_rule": "half"}, "split_rule must be one of"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        small_task(**changes)


def test_a_split_beyond_the_graph_is_refused():
    split = Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([4]))
    with pytest.raises(ValueError, match="nodes below 4, got 4"):
        small_task(split=split)


def test_a_split_names_each_node_once():
    with pytest.raises(ValueError, match="1 repetitions"):
        Split(torch.tensor([0, 1]), torch.tensor([1]), torch.tensor([2]))


def test_a_split_survives_as_plain_lists():
    split = Split(torch.tensor([3, 0]), torch.tensor([1]), torch.tensor([2]))
    assert Split.from_lists(split.to_lists()).to_lists() == split.to_lists()


@pytest.mark.parametrize(
    "changes",
    [
        {"graph": Graph.from_edge_index(torch.tensor([[0], [1]]), 4, undirected=True)},
        {"features": 2 * torch.eye(4)},
        {"features": SparseFeatures.identity(4)},
        {"labels": torch.tensor([0, 1, 1, 1])},
        {"class_names": ("a", "c")},
    ],
)
def test_fingerprint_sees_whatever_a_model_sees(changes):
    assert small_task(**changes).fingerprint != small_task().fingerprint


def test_fingerprint_ignores_names_and_notes():
    assert small_task(name="other", notes=("n",)).fingerprint == small_task().fingerprint


def test_largest_component_keeps_rows_together():
    task = replace(small_task(), node_ids=("p", "q", "r", "s")).largest_component()
    assert task.node_ids == ("p", "q", "r")
    assert task.labels.tolist() == [0, 1, -1]
    assert torch.equal(task.features, torch.eye(4)[:3])


def test_made_up_blocks_have_the_asked_for_sizes_and_more_edges_inside():
    task = block_model([30, 20], torch.Generator().manual_seed(0), inside=0.5, between=0.05)
    assert torch.bincount(task.labels).tolist() == [30, 20]
    same = task.labels[task.graph.tail] == task.labels[task.graph.head]
    assert 0.8 < float(same.double().mean()) < 1


def test_made_up_blocks_are_the_same_for_the_same_seed():
    one, two = (block_model([9, 9], torch.Generator().manual_seed(4)) for _ in range(2))
    assert one.fingerprint == two.fingerprint


def test_made_up_blocks_refuse_impossible_settings():
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(ValueError, match="sizes must be"):
        block_model([5], generator)
    with pytest.raises(ValueError, match="inside must be a probability"):
        block_model([5, 5], generator, inside=1.5)


def test_nodes_are_called_by_their_ids_or_by_their_numbers():
    assert list(small_task().ids) == [0, 1, 2, 3]
    assert list(small_task(node_ids=("p", "q", "r", "s")).ids) == ["p", "q", "r", "s"]
