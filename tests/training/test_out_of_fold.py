"""Calibration holds for the model that is saved, not only for those of the folds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.training.prediction.conformal import conformal_sets
from elasticgnn.training.tuning.closed_form import PROPAGATION, closed_form_candidates
from elasticgnn.training.tuning.conclude import calibrated
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.folds import RANDOM, divide
from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.out_of_fold import outputs_without, predict_out_of_fold
from elasticgnn.training.tuning.splitting import Splitting

FOREVER = 1e6


def weakly_joined(seed, n=3000, classes=8, known=900):
    """Classes of different size, joined mostly within; the task knows some labels, y has all."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, classes + 1)
    y = rng.choice(classes, n, p=share / share.sum())
    ends = rng.integers(0, n, (2, 40 * n))
    keep = rng.random(ends.shape[1]) < np.where(y[ends[0]] == y[ends[1]], 1.0, 0.08)
    ends = ends[:, keep & (ends[0] != ends[1])][:, : 4 * n]
    graph = Graph.from_edge_index(torch.from_numpy(ends), n, undirected=True)
    labels = torch.full((n,), -1)
    chosen = torch.from_numpy(rng.permutation(n)[:known])
    labels[chosen] = torch.from_numpy(y)[chosen]
    names = tuple(map(str, range(classes)))
    columns = {"part": tuple("test" if k % 5 == 0 else "train" for k in range(n))}
    x = torch.from_numpy(rng.normal(size=(n, 2))).float()
    return NodeTask("weak", graph, x, labels, names, label_columns=columns), y


def loud_propagation():
    candidates = closed_form_candidates(has_features=False)
    return next(c for c in candidates if c.family == PROPAGATION and c.shrinkage == 0.1)


def regression_on_features():
    return next(c for c in closed_form_candidates(has_features=True) if not c.by_id and not c.hops)


def searched(task, splitting=RANDOM, seed=0, candidate=None):
    """A candidate, label propagation if none, measured on the folds of a division; its holdout."""
    loud = candidate or loud_propagation()
    evaluation = Evaluation(task, "accuracy", seed)
    division = divide(task, np.random.default_rng(seed), splitting)
    best = evaluation.measure([loud], division.folds, 1.0)[0]
    return Holdout(evaluation, division, FOREVER, np.random.default_rng(seed)), best


def away_from(task, y, holdout, best, held):
    """Coverage of sets asked to hold 90 % on unknown nodes; how much surer the model is there than
    right, less the same on the nodes held out."""
    evaluation = holdout.evaluation
    calibration, scores = calibrated(evaluation, held.calibrating)
    away = (task.labels < 0).nonzero().flatten()
    model = evaluation.refit(best, holdout.division.refit_nodes)
    predicted = calibration.apply(evaluation.probability(best.candidate, model, away))
    truth = y[away.numpy()]
    inside = conformal_sets(predicted, scores, 0.9)[np.arange(len(truth)), truth].mean()
    known = task.labels[torch.from_numpy(held.nodes)].numpy()
    return inside, excess(predicted, truth) - excess(calibration.apply(held.outputs), known)


def excess(message, truth):
    """Mean confidence less accuracy."""
    return message.max(1).mean() - (message.argmax(1) == truth).mean()


def test_sets_and_probabilities_are_true_of_the_saved_model_over_many_draws():
    """The folds lack 40 % of the labels: what they propagate is right less often, and as sure."""
    found, on_folds = [], []
    for seed in range(6):
        task, y = weakly_joined(seed)
        holdout, best = searched(task, seed=seed)
        found.append(away_from(task, y, holdout, best, predict_out_of_fold(holdout, best, FOREVER)))
        on_folds.append(away_from(task, y, holdout, best, predict_out_of_fold(holdout, best, 0.0)))
    coverage, surer = np.mean(found, axis=0)
    assert coverage == pytest.approx(0.9, abs=0.015)
    assert abs(surer) < 0.02
    assert np.mean(on_folds, axis=0)[1] < -0.03  # what it would be by the folds


@pytest.mark.parametrize(
    ("splitting", "seconds", "refits", "least"),
    [
        (RANDOM, FOREVER, 4 * 4, 0.94),
        (RANDOM, 0.0, 0, 1.0),
        (Splitting(groups="family"), FOREVER, 4, 0.6),  # the rest of a group predicts a piece
    ],
)
def test_models_that_calibrate_know_nearly_as_many_labels_as_the_saved_one(
    splitting, seconds, refits, least, monkeypatch
):
    """Trained on four fifths they are right less often, and its sets hold more than was asked."""
    task, _ = weakly_joined(0, n=400, known=200)
    task = replace(task, label_columns={"family": tuple(str(k % 10) for k in range(400))})
    holdout, best = searched(task, splitting, candidate=regression_on_features())
    refit, trained = holdout.evaluation.refit, []
    monkeypatch.setattr(
        holdout.evaluation, "refit", lambda o, train: trained.append(len(train)) or refit(o, train)
    )
    predict_out_of_fold(holdout, best, seconds)
    assert trained[0] == len(holdout.division.development)  # as the others on the leaderboard
    assert len(trained[1:]) == refits
    assert min(trained[1:], default=200) / 200 >= least


def test_each_node_is_asked_of_a_model_that_has_not_seen_it():
    """A model that had seen a node would know its class: no edge and no feature gives it away."""
    task, _ = weakly_joined(0, n=400, known=200)
    lonely = Graph.from_edge_index(torch.tensor([[0], [1]]), 400, undirected=True)
    holdout, best = searched(replace(task, graph=lonely))
    held = predict_out_of_fold(holdout, best, FOREVER)
    truth = task.labels[torch.from_numpy(held.nodes)].numpy()
    assert sorted(held.nodes.tolist()) == task.labelled.tolist()
    assert held.nodes[held.group == 0].tolist() == holdout.division.holdout.tolist()
    shares = np.bincount(truth) / len(truth)
    own = held.outputs[np.arange(len(truth)), truth]
    assert np.abs(own - shares[truth]).max() < 0.05  # nothing but how frequent the class is


def test_folds_of_one_node_are_asked_in_one_piece():
    task, _ = weakly_joined(0, n=400, known=200)
    holdout, best = searched(task, candidate=regression_on_features())
    nodes = holdout.division.folds[0].val[:1]
    assert len(outputs_without(holdout, best, 1, nodes, 4)) == 1


def test_a_test_of_ones_own_calibrates_nothing():
    task, _ = weakly_joined(0, n=400, known=200)
    holdout, best = searched(task, Splitting(parts="part"))
    held = predict_out_of_fold(holdout, best, FOREVER)
    assert not set(held.calibrating.nodes.tolist()) & set(holdout.division.holdout.tolist())
    assert len(held.of_holdout) == len(holdout.division.holdout)


def test_later_nodes_do_not_teach_what_is_said_of_earlier_ones():
    task, _ = weakly_joined(0, n=400, known=200)
    task = replace(task, label_columns={"day": tuple(map(str, range(400)))})
    division = searched(task, Splitting(time="day"))[0].division
    for number, fold in enumerate(division.folds):
        train = division.trained_without(fold.val, number)
        assert int(train.max()) < int(fold.val.min())
