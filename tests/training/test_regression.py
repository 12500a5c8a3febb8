"""Numbers as targets: the right family wins, errors and intervals are true, files keep it."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings
from elasticgnn.training import (
    ElasticGNNRegressor,
    TrainedModel,
    TrainingPlan,
    fit,
    make_model,
    tune,
)
from elasticgnn.training.tuning.closed_form import fit_closed_form, number_candidates
from elasticgnn.training.tuning.evaluate import Evaluation


def made_up(n=300, seed=0, noise=0.1):
    """Numbers that grow with the first feature of a node and with that of its neighbours."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2, 4 * n))
    ends = ends[:, ends[0] != ends[1]]
    graph = Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)
    x = rng.normal(size=(n, 4))
    y = 1000 + 50 * (3 * x[:, 0] + noise * rng.normal(size=n))
    return graph, torch.from_numpy(x).float(), y


@pytest.fixture(scope="module")
def fitted():
    graph, x, y = made_up()
    known = np.where(np.arange(300) % 2, y, np.nan)
    return ElasticGNNRegressor(minutes=0.02).fit(x, known, graph=graph), x, y, graph


def test_numbers_are_found_within_their_intervals(fitted):
    model, _, y, _ = fitted
    away = np.arange(300) % 2 == 0
    assert model.score(None, np.where(away, y, np.nan)) > 0.95
    low, high = model.predict_interval(coverage=0.8).T
    inside = ((low <= y) & (y <= high))[away].mean()
    assert 0.68 < inside < 0.92
    assert model.leaderboard_.metric == "r2"
    assert model.leaderboard_.majority == pytest.approx(0, abs=0.1)
    families = {entry.family for entry in model.leaderboard_.entries}
    assert {"ridge", "neighbour average", "elastic", "mlp"} <= families


def test_the_regressor_comes_back_from_its_file(fitted, tmp_path):
    model, x, _, graph = fitted
    model.save(tmp_path / "m.safetensors")
    again = ElasticGNNRegressor.load(tmp_path / "m.safetensors")
    np.testing.assert_allclose(again.predict(x, graph=graph), model.predict(), rtol=1e-6)
    trained = TrainedModel.load(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="model must predict classes, got one of --target number"):
        trained.predict(model.task_)


def test_neighbours_decide_where_features_say_nothing(monkeypatch):
    monkeypatch.setattr(time, "perf_counter", time.process_time)  # no cut on a busy machine
    graph, x, _ = made_up(n=400)
    half = np.arange(400) >= 200
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 200, (2, 1200)) + 200 * rng.integers(0, 2, 1200)
    ends = ends[:, ends[0] != ends[1]]
    graph = Graph.from_edge_index(torch.from_numpy(ends), 400, undirected=True)
    y = torch.from_numpy(np.where(half, 5.0, -5.0) + rng.normal(size=400))
    known = torch.where(torch.arange(400) % 2 == 1, y, torch.nan)
    task = NodeTask("made up", graph, x, torch.full((400,), -1), (), values=known)
    board = tune(task, minutes=0.04, metric="mae")
    assert board.graph_gain.low > 0
    assert board.estimate.value == pytest.approx(-board.report["mae"])
    assert board.report["mae"] < 2


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_elastic_steps_are_trained_through(loss):
    graph, x, y = made_up(n=120)
    values = torch.from_numpy((y - y.mean()) / y.std())
    task = NodeTask("made up", graph, x, torch.full((120,), -1), (), values=values)
    nodes = torch.arange(120)
    split = Split(nodes[:80], nodes[80:100], nodes[100:])
    generator = torch.Generator().manual_seed(0)
    settings = ModelSettings(lambda1=0.1, lambda2=0.1, steps=3, dropout=0.0)
    model = make_model(settings, task, generator)
    history = fit(model, task, split, TrainingPlan(epochs=120, loss=loss), generator)
    assert history.loss[-1] < 0.3 * history.loss[0]
    assert history.test_accuracy > 0.5  # R^2


def test_one_outlier_moves_huber_less_than_squares():
    graph, x, y = made_up(n=120, noise=0.0)
    values = torch.from_numpy((y - y.mean()) / y.std())
    wild = values.clone()
    wild[0] = 500.0
    nothing = torch.empty(0, dtype=torch.int64)
    errors = {}
    for loss in ("squared", "huber"):
        task = NodeTask("wild", graph, x, torch.full((120,), -1), (), values=wild)
        generator = torch.Generator().manual_seed(0)
        model = make_model(ModelSettings("mlp", dropout=0.0), task, generator)
        fit(
            model,
            task,
            Split(torch.arange(120), nothing, nothing),
            TrainingPlan(epochs=80, loss=loss),
            generator,
        )
        predicted = model(x, graph)[1:, 0].detach()
        errors[loss] = float((predicted - values[1:]).abs().median())
    assert errors["huber"] < 0.5 * errors["squared"]


def test_too_few_numbers_are_refused():
    graph, x, y = made_up()
    values = torch.full((300,), torch.nan, dtype=torch.float64)
    values[:10] = torch.from_numpy(y[:10])
    task = NodeTask("few", graph, x, torch.full((300,), -1), (), values=values)
    with pytest.raises(ValueError, match="labels must be at least 25 numbers"):
        tune(task, minutes=0.02)
    with pytest.raises(ValueError, match=r"metric must be auto or one of .*'r2'"):
        tune(replace(task, values=torch.from_numpy(y)), minutes=0.02, metric="auc")


def test_averages_of_neighbours_do_not_grow_with_the_number_of_known_nodes():
    """The folds, which choose the gain, know fewer numbers than the model that is saved."""
    graph, x, _ = made_up(n=400)
    ones = torch.ones(400, dtype=torch.float64)
    task = NodeTask("made up", graph, x, torch.full((400,), -1), (), values=ones)
    evaluation = Evaluation(task, "mae", 0, (0.0, 1.0))
    order = torch.randperm(400, generator=torch.Generator().manual_seed(0))
    for candidate in number_candidates(has_features=False):
        means = []
        for known in (100, 300):
            model = fit_closed_form(candidate, evaluation.task_of(candidate), order[:known])
            means.append(evaluation.probability(candidate, model, order[300:]).mean())
        assert means[0] == pytest.approx(means[1], rel=0.1)
