"""Tuning: the right family wins, what it is said to be worth is true, files keep it."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
import torch

from elasticgnn.cli.train_tuned import summary_lines
from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.training import ElasticGNNClassifier, TrainedModel, tune
from elasticgnn.training.prediction.conformal import (
    chance_range,
    conformal_sets,
    coverage_deviation,
    threshold,
)
from elasticgnn.training.tuning.calibration import cooled, fit_temperature
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.tuning.metrics import calibration_error, choose_metric, score
from elasticgnn.training.tuning.out_of_fold import predict_out_of_fold


def made_up(useful_edges, useful_features, n=400, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    ends = rng.integers(0, n, (2, 20 * n))
    keep = rng.random(20 * n) < (
        np.where(y[ends[0]] == y[ends[1]], 0.4, 0.02) if useful_edges else 0.15
    )
    ends = ends[:, keep & (ends[0] != ends[1])]
    x = 1000 + 300 * (rng.normal(size=(n, 6)) + (2.5 * np.eye(6)[y] if useful_features else 0))
    graph = Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)
    labels = torch.from_numpy(np.where(np.arange(n) % 2, y, -1))
    names = tuple("abc"[:classes])
    columns = tuple(f"c{k}" for k in range(6))
    x = torch.from_numpy(x).float()
    task = NodeTask("made up", graph, x, labels, names, tuple(range(n)), feature_names=columns)
    return task, y


@pytest.fixture(scope="module")
def without_features():
    task, y = made_up(useful_edges=True, useful_features=False)
    return task, y, tune(task, minutes=0.02)


def right(board, task, y):
    away = np.arange(task.num_nodes) % 2 == 0
    predicted = board.winner.predict(task)
    return float((predicted.label.numpy() == y)[away].mean())


def test_useless_features_leave_the_choice_to_the_graph(without_features):
    task, y, board = without_features
    assert right(board, task, y) > 0.9
    assert board.graph_gain.low > 0
    assert board.beats_majority


def test_useless_edges_leave_the_choice_to_the_features():
    task, y = made_up(useful_edges=False, useful_features=True)
    board = tune(task, minutes=0.02)
    assert right(board, task, y) > 0.85
    assert board.estimate.low <= right(board, task, y) <= board.estimate.high + 0.03


def test_the_winner_comes_back_from_its_file(without_features, tmp_path):
    task, _, board = without_features
    board.winner.save(tmp_path / "m.safetensors")
    again = TrainedModel.load(tmp_path / "m.safetensors")
    expected = board.winner.predict(task).probability
    torch.testing.assert_close(again.predict(task).probability, expected)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(0))
    names = tuple(task.feature_names[k] for k in order.tolist())
    other = replace(task, features=task.features[:, order], feature_names=names)
    torch.testing.assert_close(again.predict(other).probability, expected)
    assert again.facts["conformal"]


def test_every_family_is_on_the_leaderboard(without_features):
    families = {entry.family for entry in without_features[2].entries}
    wanted = {"logistic regression", "label propagation", "mlp", "gcn", "sage", "appnp", "elastic"}
    assert wanted <= families
    assert without_features[2].to_json()["report"]["confusion"]


def test_the_holdout_chooses_nothing_and_every_known_node_has_one_part():
    task, _ = made_up(useful_edges=True, useful_features=True)
    division = divide(task, np.random.default_rng(0))
    holdout, development = set(division.holdout.tolist()), set(division.development.tolist())
    assert holdout.isdisjoint(development)
    assert holdout | development == set(task.labelled.tolist())
    for fold in division.folds:
        assert holdout.isdisjoint(fold.train.tolist() + fold.val.tolist())
    assert sum(len(fold.val) for fold in division.folds) == len(development)


def test_too_few_labels_are_refused():
    task, _ = made_up(useful_edges=True, useful_features=True)
    few = torch.full_like(task.labels, -1)
    few[:4] = torch.tensor([0, 1, 0, 1])
    with pytest.raises(ValueError, match="labels must be at least 10"):
        tune(replace(task, labels=few))


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan"), float("inf")])
def test_minutes_must_be_a_time(minutes):
    task, _ = made_up(useful_edges=True, useful_features=True)
    with pytest.raises(ValueError, match="minutes must be a finite number > 0, got"):
        tune(task, minutes=minutes)


def test_metrics_of_known_answers():
    labels = np.array([0, 0, 0, 1])
    outputs = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    assert score("accuracy", labels, outputs) == 0.75
    assert score("balanced", labels, outputs) == pytest.approx((2 / 3 + 1) / 2)
    assert score("auc", labels, outputs) == 1.0
    assert choose_metric("auto", labels) == "auc"
    assert choose_metric("auto", np.array([0, 1, 2])) == "accuracy"
    with pytest.raises(ValueError, match="metric must be auto or one of"):
        choose_metric("speed", labels)
    sure = np.array([[0.0, 1.0]] * 4)
    assert calibration_error(labels, sure) == pytest.approx(0.75)


def test_temperature_makes_probabilities_true_and_sets_hold_their_share():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3)) * 1.5
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in true])
    loud = cooled(true, 0.3)
    temperature = fit_temperature(labels[:2000], loud[:2000])
    assert temperature == pytest.approx(1 / 0.3, rel=0.15)
    calm = cooled(loud, temperature)
    assert calibration_error(labels[2000:], calm[2000:]) < 0.04
    scores = sorted((1 - calm[np.arange(2000), labels[:2000]]).tolist())
    inside = conformal_sets(calm[2000:], scores, 0.9)
    assert inside[np.arange(2000), labels[2000:]].mean() == pytest.approx(0.9, abs=0.02)
    with pytest.raises(ValueError, match="coverage must be in"):
        threshold(scores, 1.0)


def test_chance_moves_the_share_that_sets_hold_by_a_known_deviation():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(4000):
        limit = threshold(sorted(rng.random(60)), 0.9)
        found.append((rng.random(40) <= limit).mean())
    assert np.std(found) == pytest.approx(coverage_deviation(0.9, 60, 40), rel=0.05)
    low, high = chance_range(0.9, 60, 40)
    assert np.mean([low <= share <= high for share in found]) == pytest.approx(0.95, abs=0.02)


def test_calibration_may_take_half_as_long_as_the_search(monkeypatch):
    """So that all known nodes are held out by refits even where little time was given."""
    given = []

    def held(holdout, best, seconds):
        given.append(seconds)
        return predict_out_of_fold(holdout, best, seconds)

    monkeypatch.setattr("elasticgnn.training.tuning.conclude.predict_out_of_fold", held)
    task, _ = made_up(useful_edges=False, useful_features=True, n=200)
    board = tune(task, minutes=0.01)
    assert given[0] >= 0.3
    low, high = board.coverage_range
    assert low < 0.9 < high
    assert board.to_json()["coverage_range"] == (low, high)


def test_a_family_that_was_given_up_after_one_fold_says_so(without_features):
    board = without_features[2]
    pilot = replace(board.entries[1], folds=1, deviation=0.0)
    lines = summary_lines(replace(board, entries=(board.entries[0], pilot)))
    assert board.entries[0].folds == 4
    assert "(one fold)" not in lines[2]
    assert " ± " in lines[2]
    assert "(one fold)" in lines[3]
    assert " ± " not in lines[3]


def test_the_estimator_tunes_when_asked(tmp_path):
    task, y = made_up(useful_edges=False, useful_features=True, n=200)
    model = ElasticGNNClassifier(tune=True, minutes=0.005)
    model.fit(task.features, task.labels, graph=task.graph)
    assert np.mean(model.predict()[::2] == y[::2]) > 0.8
    assert model.leaderboard_.beats_majority
    model.save(tmp_path / "m.safetensors")
    again = ElasticGNNClassifier.load(tmp_path / "m.safetensors", task.features, graph=task.graph)
    assert np.array_equal(again.predict(), model.predict())
    assert again.tune


def test_the_winner_keeps_what_a_page_about_it_shows(without_features, tmp_path):
    task, _, board = without_features
    board.winner.save(tmp_path / "m.safetensors")
    facts = TrainedModel.load(tmp_path / "m.safetensors").facts
    assert facts["split"]["train"] == task.labelled.tolist()
    kept = facts["leaderboard"]
    assert kept["entries"][0]["family"] == board.entries[0].family
    bins = kept["report"]["reliability"]
    holdout = sum(part["nodes"] for part in bins)
    assert holdout == board.estimate.nodes
    error = sum(part["nodes"] * abs(part["confidence"] - part["accuracy"]) for part in bins)
    assert error / holdout == pytest.approx(board.calibration_error)
    assert len(kept["curves"]) in (0, 4)  # a network is trained on each fold


def test_curves_are_thinned_and_leave_out_what_was_not_measured():
    from elasticgnn.training.loop.history import History

    loss = tuple(float(k) for k in range(250))
    nothing = (float("nan"),) * 250
    curves = History(loss, loss, loss, nothing, 3, 0.1).curves()
    assert curves["stride"] == 3
    assert curves["loss"][1] == 3.0
    assert len(curves["val"]) == 84
    assert "test" not in curves


def test_an_interrupted_comparison_goes_on(tmp_path, monkeypatch):
    task, _ = made_up(useful_edges=True, useful_features=True, n=120)
    path, seen = tmp_path / "m.tuning", []

    def stop(done, best):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(task, minutes=0.05, progress=stop, checkpoint=path)
    with pytest.raises(ValueError, match="of other data or settings"):
        tune(task, minutes=0.05, seed=1, checkpoint=path)
    measure = Evaluation.measure_group

    def counted(self, group, folds, seconds):
        seen.extend(candidate.family for candidate in group)
        return measure(self, group, folds, seconds)

    monkeypatch.setattr(Evaluation, "measure_group", counted)
    board = tune(task, minutes=0.02, checkpoint=path)
    assert "label propagation" not in seen
    assert "logistic regression" not in seen
    assert "label propagation" in {entry.family for entry in board.entries}
    assert not path.exists()


def test_what_another_program_left_behind_is_refused_with_advice(tmp_path):
    task, _ = made_up(useful_edges=True, useful_features=True, n=120)
    path = tmp_path / "m.tuning"
    path.write_text("not an archive")
    with pytest.raises(ValueError, match=r"what this comparison left behind, .*\(delete it\)"):
        tune(task, minutes=0.02, checkpoint=path)
    assert path.read_text() == "not an archive"


def test_the_interval_does_not_depend_on_how_much_was_proposed(monkeypatch):
    """A comparison that goes on proposes less than one without an interruption."""
    task, _ = made_up(useful_edges=False, useful_features=True, n=120)
    monkeypatch.setattr("elasticgnn.training.tuning.search.first_candidates", lambda **_: [])
    tuning = import_module("elasticgnn.training.tuning.tune")  # its name is that of a function, too
    estimates = []
    for draws in (0, 7):
        search = tuning.search

        def searched(evaluation, division, seconds, rng, *rest, draws=draws, search=search, **more):
            rng.random(draws)
            return search(evaluation, division, seconds, rng, *rest, **more)

        with monkeypatch.context() as patch:
            patch.setattr(tuning, "search", searched)
            estimates.append(tune(task, minutes=0.001).estimate)
    assert estimates[0] == estimates[1]
