"""Several networks as one: what they say, whether they are worth it, and their file."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data.synthetic import block_model
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainedModel, make_model, trained_on, tune
from elasticgnn.training.tuning import bagging
from elasticgnn.training.tuning.candidates import PLAN, Candidate
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.tuning.outcome import Outcome
from elasticgnn.training.wrappers.ensemble import Ensemble, count_members


@pytest.fixture(scope="module")
def task():
    return block_model([60, 60], torch.Generator().manual_seed(0))


def pair(task, name, **more):
    generator = torch.Generator().manual_seed(3)
    return [make_model(ModelSettings(name, **more), task, generator).eval() for _ in range(2)]


@pytest.mark.parametrize("name", ["elastic", "sage", "gcn", "mlp", "appnp"])
def test_an_ensemble_says_the_mean_probability(task, name):
    one, other = pair(task, name)
    both = trained_on(task, Ensemble([one, other]), ModelSettings(name)).predict(task)
    predicted = [trained_on(task, each, ModelSettings(name)).predict(task) for each in (one, other)]
    mean = (predicted[0].probability + predicted[1].probability) / 2
    torch.testing.assert_close(both.probability, mean, atol=1e-6, rtol=0)


def test_an_ensemble_of_numbers_says_their_mean(task):
    one, other = pair(task, "mlp")
    both = Ensemble([one, other], of_numbers=True)(task.features, task.graph)
    mean = (one(task.features) + other(task.features)) / 2
    torch.testing.assert_close(both, mean)


def test_an_ensemble_comes_back_from_its_file(task, tmp_path):
    trained = trained_on(task, Ensemble(pair(task, "sage")), ModelSettings("sage"))
    trained.save(tmp_path / "both.safetensors")
    again = TrainedModel.load(tmp_path / "both.safetensors")
    assert count_members(again.model) == 2
    torch.testing.assert_close(again.predict(task).probability, trained.predict(task).probability)


def test_a_file_with_another_number_of_members_is_refused(task, tmp_path, monkeypatch):
    trained = trained_on(task, Ensemble(pair(task, "sage")), ModelSettings("sage"))
    path = tmp_path / "both.safetensors"
    from elasticgnn.training.model import file as model_file

    monkeypatch.setattr(model_file, "check_described", lambda trained: None)
    monkeypatch.setattr(model_file, "count_members", lambda model: 10**6)
    trained.save(path)
    with pytest.raises(ValueError, match="1000000 members with"):
        TrainedModel.load(path)


def test_the_mean_is_scored_fold_by_fold(task):
    division = divide(task, np.random.default_rng(0))
    evaluation = Evaluation(task, "accuracy", 0)
    nodes = torch.cat([fold.val for fold in division.folds])
    truth = np.eye(2)[task.labels[nodes]]
    candidate = Candidate("sage", ModelSettings("sage"))
    right = Outcome(candidate, (1.0,) * 4, nodes.numpy(), truth, 10)
    first = len(division.folds[0].val)
    wrong = replace(right, probability=truth.copy(), epochs=30)
    wrong.probability[:first] = 1 - 2 * truth[:first]  # louder than the right one, in one fold
    together = bagging.pooled(evaluation, [right, wrong], division.folds)
    assert together.scores == (0.0, 1.0, 1.0, 1.0)
    assert (together.members, together.epochs) == (2, 20)


def test_an_ensemble_wins_only_where_it_held_out_better(task, monkeypatch):
    division = divide(task, np.random.default_rng(0))
    evaluation = Evaluation(task, "accuracy", 0)
    few = Candidate("sage", ModelSettings("sage", 8), replace(PLAN, epochs=3))
    found = evaluation.measure([few], division.folds, 600.0)[0]
    for gain, is_better in ((0.002, False), (0.004, True)):
        better = replace(found, scores=tuple(value + gain for value in found.scores), members=4)
        monkeypatch.setattr(bagging, "pooled", lambda *_, better=better: better)
        chosen = bagging.worthwhile_ensemble(evaluation, found, division.folds, 600.0)
        assert (chosen is better) == is_better
    assert bagging.worthwhile_ensemble(evaluation, found, division.folds, 0.0) is None


def test_a_tuned_ensemble_is_judged_and_saved_whole(task, tmp_path, monkeypatch):
    def forced(evaluation, best, folds, seconds):
        return replace(best, members=2)

    module = sys.modules["elasticgnn.training.tuning.tune"]
    first = [Candidate("sage", ModelSettings("sage", 8), replace(PLAN, epochs=3))]
    monkeypatch.setattr(module, "worthwhile_ensemble", forced)
    module = sys.modules["elasticgnn.training.tuning.search"]
    monkeypatch.setattr(module, "closed_form_candidates", lambda **_: [])
    monkeypatch.setattr(module, "first_candidates", lambda **_: first)
    monkeypatch.setattr(module, "propose", lambda *_, **_2: [])
    board = tune(task, minutes=0.02)
    board.winner.save(tmp_path / "model.safetensors")
    again = TrainedModel.load(tmp_path / "model.safetensors")
    assert count_members(again.model) == board.entries[0].members == 2
    assert board.entries[0].held_out == board.estimate
