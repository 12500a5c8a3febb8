"""Small parts of training on their own: measures, limits, words, weights of classes."""

import inspect
import math
from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from elasticgnn.nn import ModelSettings
from elasticgnn.training import ElasticGNNClassifier, ElasticGNNRegressor, TrainingPlan, tune
from elasticgnn.training.loop.objective import class_weights
from elasticgnn.training.model.known_columns import missing_column, unknown_columns
from elasticgnn.training.model.trained_model import unlike_training
from elasticgnn.training.prediction.conformal import SetSizes, set_sizes
from elasticgnn.training.prediction.predict import Prediction, tempered
from elasticgnn.training.splits.selection import selection_split
from elasticgnn.training.tuning.bagging import worthwhile_ensemble
from elasticgnn.training.tuning.calibration import cooled, fit_calibration
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.metrics import interval, number_score, score, score_gap
from elasticgnn.training.tuning.outcome import Outcome


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_limits_of_a_plan():
    assert TrainingPlan(patience=1).patience == 1
    with pytest.raises(ValueError, match="patience"):
        TrainingPlan(patience=0)
    with pytest.raises(ValueError, match="weight_decay must be a finite number >= 0, got -1"):
        TrainingPlan(weight_decay=-1.0)


def test_r2_is_the_share_of_the_variance_that_is_explained():
    truth = np.array([0.0, 1.0, 0.0, 1.0])  # variance 1/4
    assert number_score("r2", truth, truth) == 1.0
    assert number_score("r2", truth, np.full(4, 0.5)) == 0.0
    assert number_score("r2", truth, truth / 2) == pytest.approx(1 - 0.125 / 0.25)
    assert math.isnan(number_score("r2", np.ones(4), np.ones(4)))


def test_nodes_without_an_error_leave_room_for_three():
    labels, sure = np.zeros(30, dtype=int), np.tile([1.0, 0.0], (30, 1))
    low, high = interval("accuracy", labels, sure, np.random.default_rng(0))
    assert (low, high) == (pytest.approx(1 - 3 / 30), 1.0)
    assert interval("accuracy", labels[:1], sure[:1], np.random.default_rng(0)) == (0.0, 1.0)


@pytest.mark.parametrize(("metric", "least"), [("auc", 0.4), ("balanced", 0.7), ("accuracy", 0.94)])
def test_a_perfect_score_of_few_positive_nodes_is_not_sure(metric, least):
    labels = np.array([1] * 5 + [0] * 45)
    sure = np.stack([labels == 0, labels == 1], 1).astype(float)
    low, high = interval(metric, labels, sure, np.random.default_rng(0))
    assert (low, high) == (pytest.approx(least), 1.0)


def test_every_class_keeps_a_training_node():
    labels = torch.tensor([0, 0, 1, 1, 1, -1])
    split = selection_split(labels, 0.9, seeded())
    assert set(labels[split.train].tolist()) == {0, 1}
    assert len(split.val) == 3
    with pytest.raises(ValueError, match="at least 2 classes, got 1"):
        selection_split(torch.tensor([3, 3, -1]), 0.5, seeded())


def test_a_class_weighs_the_same_however_few_its_nodes():
    task = SimpleNamespace(labels=torch.tensor([0, 1, 1, 1, 2]), num_classes=4)
    found = class_weights(task, torch.arange(4))
    torch.testing.assert_close(found, torch.tensor([2.0, 2 / 3, 0.0, 0.0]))


def test_columns_that_are_missing_or_strange_are_named():
    task = SimpleNamespace(feature_names=tuple("abcdefg"), categories=())
    assert str(missing_column(["x"], task, ())).endswith("got none called 'x'")
    assert str(missing_column(["x", "y"], task, ())).endswith("got none called 'x' and 1 more")
    (note,) = unknown_columns(task, ("a",), ())
    assert note.endswith("are left out: b, c, d, e, f")


def test_biases_and_temperature_come_back():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6000, 3))
    shown = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    true = cooled(shown, 0.5, (1.0, 0.0, -1.0))
    labels = np.array([rng.choice(3, p=row) for row in true])
    found = fit_calibration(labels, shown)
    assert found.temperature == pytest.approx(0.5, rel=0.1)
    assert np.subtract(found.bias, np.mean(found.bias)) == pytest.approx([1, 0, -1], abs=0.15)


def test_an_ensemble_has_four_networks():
    seeds = []
    best = Outcome(Candidate("gcn", ModelSettings("gcn")), (0.5,), np.arange(2), np.eye(2), 3)

    class Measured:
        seed, metric = 7, "accuracy"

        def with_seed(self, seed):
            seeds.append(seed)
            return self

        def measure(self, candidates, folds, seconds):
            return [best]

        def truth(self, nodes):
            return np.array([0, 1])

    together = worthwhile_ensemble(Measured(), best, [SimpleNamespace(val=np.arange(2))], 1.0)
    assert seeds == [8, 9, 10]
    assert together.members == 4


def test_estimators_take_as_long_as_the_function():
    usual = inspect.signature(tune).parameters["minutes"].default
    for kind in (ElasticGNNClassifier, ElasticGNNRegressor):
        assert {part.name: part.default for part in fields(kind)}["minutes"] == usual


@pytest.mark.parametrize("made", [True, False])
def test_columns_without_names_are_noted_where_they_are_ones_own(made):
    trained = SimpleNamespace(facts={}, feature_names=("age", "size"))
    graph = SimpleNamespace(is_unweighted=True)
    task = SimpleNamespace(graph=graph, feature_names=None, made_features=made)
    notes = unlike_training(trained, task)
    assert [note.startswith("features have no names") for note in notes] == [True] * (not made)


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match=r"parameter must be one of .*, got colour"):
        ElasticGNNClassifier().set_params(colour=3)


def test_a_regressor_without_its_data_asks_for_them():
    model = ElasticGNNRegressor()
    model.task_ = None
    with pytest.raises(ValueError, match="X and graph must be given after loading without them"):
        model.asked_about(None, None)


def test_predicted_probabilities_are_the_ones_that_were_calibrated():
    """Also where a class is all but ruled out, which a large temperature brings back."""
    raw = torch.tensor([[0.0, -60.0, -20.0], [1.0, 0.5, -3.0]], dtype=torch.float64).softmax(1)
    bias = (0.3, -0.2, 0.0)
    predicted = tempered(raw, 5.0, bias).numpy()
    np.testing.assert_allclose(predicted, cooled(raw.numpy(), 5.0, bias), rtol=1e-6)


def test_sizes_of_sets_are_a_mean_and_two_shares():
    inside = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)
    assert set_sizes(inside) == SetSizes(mean=1.0, one=0.5, none=0.25)


def test_more_than_half_moved_is_mostly_moved():
    predicted = Prediction(torch.eye(4), torch.tensor([0.5, 0.51, 0.0, 1.0]))
    assert predicted.num_mostly_moved == 2


def test_rounding_alone_is_no_gain():
    """Of two that tell all nodes apart, one in coarser steps; else `the graph helps` by 1e-16."""
    rng = np.random.default_rng(28)
    count = int(rng.integers(20, 80))
    labels = rng.integers(0, 2, count)
    fine = np.where(labels, 0.8, 0.3) + 0.1 * rng.random(count)
    fine[rng.integers(0, count)] = 0.5
    one, other = (np.stack([1 - p, p], 1) for p in (fine, fine.round(1)))
    assert score("auc", labels, one) != score("auc", labels, other)
    assert score_gap("auc", labels, one, other) == 0
    assert score_gap("auc", labels, one, one[:, ::-1]) > 0.5
