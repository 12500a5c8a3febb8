"""Models on hops: the means of the neighbours' features beside a node's own."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask
from elasticgnn.data.synthetic import block_model
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainedModel, explain, trained_on, tune
from elasticgnn.training.model.file import load_model, save_model
from elasticgnn.training.tuning.closed_form import LOGISTIC, LOGISTIC_HOPS, number_candidates
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.wrappers.ensemble import construct_members, count_members
from elasticgnn.training.wrappers.hops import OnHops, hop_features, hop_width, hops_within


@pytest.fixture(scope="module")
def task():
    return block_model([30, 30], torch.Generator().manual_seed(0), inside=0.2)


def plain_hops(x, graph, hops):
    """The definition, node by node."""
    around = [set() for _ in range(graph.num_nodes)]
    for a, b in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        around[a].add(b)
        around[b].add(a)
    parts = [x]
    for _ in range(hops):
        rows = [parts[-1][list(near)].mean(0) if near else 0 * x[0] for near in around]
        parts.append(torch.stack(rows))
    counts = torch.tensor([[float(len(near))] for near in around])
    return torch.cat([*parts, counts.log1p()], dim=1)


@pytest.mark.parametrize("hops", [1, 2])
def test_hop_features_are_the_means_over_neighbours(hops):
    graph = Graph.from_edges([(0, 1), (1, 2), (1, 3), (2, 3)], num_nodes=6)
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    x[:, 1] = 0
    expected = plain_hops(x, graph, hops)
    assert expected.shape[1] == hop_width(3, hops)
    torch.testing.assert_close(hop_features(x, graph, hops), expected)
    sparse = hop_features(SparseFeatures.from_dense(x), graph, hops)
    torch.testing.assert_close(sparse.to_dense(), expected)


def test_hops_are_as_many_as_there_is_room_for(task):
    x, graph = task.features, task.graph
    x = x.to_dense() if isinstance(x, SparseFeatures) else x
    size = x.numel()
    assert [hops_within(x, graph, k * size) for k in (0, 1, 2, 3, 9)] == [0, 0, 1, 2, 2]
    ids = SparseFeatures.from_dense(torch.eye(len(x)))
    assert hops_within(ids, graph, len(x)) == 0
    assert hops_within(ids, graph, len(x) + 2 * graph.num_edges) == 1
    assert hops_within(ids, graph, 3 * len(x) ** 2) == 2


def hop_model(task, members=1):
    """A model with weights of its own for every member."""
    settings = ModelSettings("mlp", hidden_channels=8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(4)
        model = construct_members(
            settings, task.num_features, task.num_classes, members, of_numbers=False, hops=2
        ).eval()
        model.center.normal_()
        model.scale.uniform_(0.5, 2.0)
    return trained_on(task, model, settings)


@pytest.mark.parametrize("members", [1, 3])
def test_a_model_on_hops_comes_back_from_its_file(task, members, tmp_path):
    made = hop_model(task, members)
    made.save(tmp_path / "m.safetensors")
    again = TrainedModel.load(tmp_path / "m.safetensors")
    assert isinstance(again.model, OnHops)
    assert count_members(again.model) == members
    expected = made.predict(task)
    torch.testing.assert_close(again.predict(task).probability, expected.probability)
    assert float(expected.moved.max()) > 0  # without edges it says something else


def test_a_file_that_asks_for_absurd_hops_is_refused(task, tmp_path, monkeypatch):
    path, loads = tmp_path / "m.safetensors", json.loads
    save_model(hop_model(task), path)
    monkeypatch.setattr(json, "loads", lambda text: {**loads(text), "hops": 10**6})
    with pytest.raises(ValueError, match=r"must be a whole model file, got .*hops must be in"):
        load_model(path)


def test_explanations_see_as_far_as_the_model(task):
    made = hop_model(task)
    found, predicted = explain(made, task, 7), made.predict(task)
    assert found.probability == pytest.approx(float(predicted.probability[7].max()), abs=1e-6)
    assert found.neighbours
    assert max(abs(part.effect) for part in found.neighbours) > 0
    assert len(found.features) <= task.num_features


def decided_by_neighbours(n=600, seed=0):
    """Unbalanced classes that the mean of the neighbours' first feature decides."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, 3 * n))
    ends = ends[:, ends[0] != ends[1]]
    graph = Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)
    x = torch.from_numpy(rng.normal(size=(n, 4))).float()
    signal = hop_features(x, graph, 1)[:, 4]
    labels = (signal > signal.quantile(0.8)).long()
    return NodeTask("neighbours", graph, x, labels, ("no", "yes"))


def test_classes_that_neighbours_decide_are_found_by_a_linear_model_on_hops(tmp_path):
    task = decided_by_neighbours()
    known = replace(task, labels=torch.where(torch.arange(600) % 2 == 0, task.labels, -1))
    board = tune(known, minutes=0.01)
    score_of = {entry.family: entry.validation for entry in board.entries}
    assert board.metric == "auc"
    assert score_of[LOGISTIC] < 0.65
    assert score_of[LOGISTIC_HOPS] > 0.95
    assert board.entries[0].validation >= score_of[LOGISTIC_HOPS]
    board.winner.save(tmp_path / "m.safetensors")
    again = TrainedModel.load(tmp_path / "m.safetensors").predict(task).probability
    torch.testing.assert_close(again, board.winner.predict(task).probability)
    right = (again.argmax(1) == task.labels)[1::2].double().mean()
    assert float(right) > 0.87  # 0.8 are of the larger class


def test_numbers_that_neighbours_decide_are_found_by_ridge_on_hops():
    task = decided_by_neighbours()
    values = 7 + 3 * hop_features(task.features, task.graph, 2)[:, 8].double()
    task = replace(task, labels=torch.full((600,), -1), class_names=(), values=values)
    division = divide(task, np.random.default_rng(0))
    unit = (float(values.mean()), float(values.std()))
    ready = replace(task, values=(values - unit[0]) / unit[1])
    evaluation = Evaluation(ready, "r2", 0, unit)
    candidates = number_candidates(has_features=True, hops=2)
    found = evaluation.measure(candidates, division.folds, 1.0)
    score = {(o.candidate.family, o.candidate.hops, o.candidate.shrinkage): o.mean for o in found}
    assert score["ridge on hops", 2, 1.0] > 0.95
    assert score["ridge", 0, 1.0] < 0.5
