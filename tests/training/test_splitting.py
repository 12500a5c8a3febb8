"""Splits of one's own: by a column, by groups, by time; and classes that weigh the same."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.graph import Graph
from elasticgnn.training import Splitting, TrainingPlan, fit, make_model
from elasticgnn.training.splits.own import own_splits
from elasticgnn.training.tuning.calibration import cooled, fit_calibration
from elasticgnn.training.tuning.folds import divide
from elasticgnn.training.tuning.metrics import calibration_error
from elasticgnn.training.tuning.splitting import cuts_in_time, with_split_notes, with_untaught
from elasticgnn.training.tuning.tune import defined_metric


def marked(**columns):
    """A hundred nodes in a ring, of two classes, with columns of texts."""
    ends = torch.stack([torch.arange(100), (torch.arange(100) + 1) % 100])
    graph = Graph.from_edge_index(ends, 100, undirected=True)
    x = torch.randn(100, 3, generator=torch.Generator().manual_seed(0))
    texts = {name: tuple(map(str, column)) for name, column in columns.items()}
    labels = (torch.arange(100) // 3) % 2
    return NodeTask("marked", graph, x, labels, ("a", "b"), label_columns=texts)


def test_a_column_names_the_holdout():
    part = ["Train"] * 60 + ["valid"] * 20 + ["test"] * 20
    task = marked(part=part)
    division = divide(task, np.random.default_rng(0), Splitting(parts="part"))
    assert division.holdout.tolist() == list(range(80, 100))
    assert division.refit_nodes.tolist() == list(range(80))
    assert len(division.folds) == 1
    assert division.folds[0].val.tolist() == list(range(60, 80))
    (split,) = own_splits(task, Splitting(parts="part"), 0)
    assert split.sizes == (60, 20, 20)


@pytest.mark.parametrize(("mark", "notes"), [("test", 1), ("val", 0)])
def test_a_class_that_is_only_tested_is_said(mark, notes):
    labels = (torch.arange(100) // 3) % 2
    part = [mark if label else "train" for label in labels.tolist()]
    part[0] = "test"
    task = with_untaught(marked(part=part), Splitting(parts="part"))
    assert len(task.notes) == notes
    assert all("of class 'b' are to test" in note for note in task.notes)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("FAM1", "'fam1' and 'FAM1' are read as two groups"),
        (" fam1 ", "'fam1' and ' fam1 ' are read as two groups"),
        ("fam\u200b1", r"'fam1' and 'fam\u200b1' are read as two groups"),
        ("fam2", ""),
    ],
)
def test_groups_that_look_alike_are_said(other, said):
    task = marked(family=["fam1", other, *(f"f{k}" for k in range(98))])
    notes = with_split_notes(task, Splitting(groups="family")).notes
    assert notes == ((f"column 'family': groups {said}",) if said else ())
    assert not with_split_notes(task, Splitting(parts=None)).notes


def test_groups_of_one_number_are_said():
    task = marked(family=["7", "7.0", *(str(k) for k in range(10, 108))])
    (note,) = with_split_notes(task, Splitting(groups="family")).notes
    assert note == (
        "column 'family': groups '7' and '7.0' are read as two groups, though they are one number"
    )


def test_groups_stay_together():
    task = marked(family=[k // 4 for k in range(100)])
    splitting = Splitting(groups="family", folds=3)
    division = divide(task, np.random.default_rng(0), splitting)
    apart = [(division.holdout, division.development)]
    apart += [(fold.train, fold.val) for fold in division.folds]
    apart += [(split.train, split.test) for split in own_splits(task, splitting, 0)]
    for one, other in apart:
        assert not {k // 4 for k in one.tolist()} & {k // 4 for k in other.tolist()}
    assert len(division.folds) == 3
    assert 15 <= len(division.holdout) <= 30


@pytest.mark.parametrize("write", [str, lambda k: f"2024-{1 + k // 28:02}-{1 + k % 28:02}"])
def test_later_nodes_are_held_out(write):
    order = np.random.default_rng(0).permutation(100)
    task = marked(when=[write(int(k)) for k in order])
    division = divide(task, np.random.default_rng(0), Splitting(time="when"))
    assert order[division.development].max() < order[division.holdout].min()
    for fold in division.folds:
        assert order[fold.train].max() < order[fold.val].min()
    (split,) = own_splits(task, Splitting(time="when"), 0)
    assert order[split.val].max() < order[split.test].min()
    assert split.sizes == (60, 20, 20)


@pytest.mark.parametrize("days", [3, 4, 7, 30])
def test_nodes_of_one_moment_stay_on_one_side(days):
    day = np.random.default_rng(1).integers(days, size=100)
    task = marked(when=[str(k) for k in day])
    division = divide(task, np.random.default_rng(0), Splitting(time="when"))
    assert day[division.development].max() < day[division.holdout].min()
    assert 1 <= len(division.folds) <= min(days - 2, Splitting().folds)
    for fold in division.folds:
        assert day[fold.train].max() < day[fold.val].min()
        assert day[fold.val].max() < day[division.holdout].min()
    (split,) = own_splits(task, Splitting(time="when"), 0)
    assert day[split.train].max() < day[split.val].min()
    assert day[split.val].max() < day[split.test].min()
    assert sum(split.sizes) == 100


@pytest.mark.parametrize(
    ("when", "places", "cuts"),
    [
        ([0, 1, 2, 3, 4, 5], [2, 4], [2, 4]),
        ([0, 0, 0, 1, 1, 2], [2, 4], [3, 5]),
        ([0] * 75 + [1] * 24 + [2], [60, 80], [75, 99]),  # the later place leaves the earlier one
        ([0, 0, 1, 1, 2, 2], [1, 2, 3, 5], [2, 4]),
    ],
)
def test_cuts_lie_where_the_time_changes(when, places, cuts):
    assert cuts_in_time(np.array(when, dtype=float), places, "t") == cuts


def test_each_fold_is_once_the_test():
    splits = own_splits(marked(), Splitting(folds=5), 0)
    assert sorted(torch.cat([split.test for split in splits]).tolist()) == list(range(100))
    assert all(split.sizes == (60, 20, 20) for split in splits)


def test_more_folds_than_nodes_are_refused():
    with pytest.raises(ValueError, match="folds must be at most 100, one per node, got 101"):
        own_splits(marked(), Splitting(folds=101), 0)


def test_each_class_of_three_is_held_out_and_the_first_fold_has_both():
    """Only then is the AUC defined on the holdout, and where candidates are first compared."""
    for seed in range(20):
        task = marked()
        labels = torch.zeros(100, dtype=torch.int64)
        labels[30:] = -1
        labels[np.random.default_rng(seed).choice(30, 3, replace=False)] = 1
        task = replace(task, labels=labels)
        division = divide(task, np.random.default_rng(seed))
        for nodes in (division.holdout, division.folds[0].val):
            assert set(labels[nodes].tolist()) == {0, 1}
        assert len(division.holdout) + len(division.development) == 30


def test_folds_that_teach_one_class_are_left_out():
    """The first sixty moments are all of one class: nothing is learned of them."""
    task = replace(marked(t=range(100)), labels=(torch.arange(100) >= 60).long())
    division = divide(task, np.random.default_rng(0), Splitting(time="t"))
    assert 1 <= len(division.folds) < Splitting().folds
    for fold in division.folds:
        assert len(task.labels[fold.train].unique()) == 2


def test_auto_takes_a_metric_that_the_holdout_defines():
    labels = torch.zeros(100, dtype=torch.int64)
    labels[:20] = 1
    part = ["train"] * 40 + ["test"] * 60
    task = replace(marked(part=part), labels=labels)
    division = divide(task, np.random.default_rng(0), Splitting(parts="part"))
    assert defined_metric(task, "auto", division) == "logloss"
    with pytest.raises(ValueError, match="auc must have nodes of more than one class"):
        defined_metric(task, "auc", division)
    assert defined_metric(task, "auto", divide(task, np.random.default_rng(0))) == "auc"


def test_two_folds_are_too_few_to_train_validate_and_test():
    with pytest.raises(ValueError, match="folds must be >= 3 to train, validate and test, got 2"):
        own_splits(marked(), Splitting(folds=2), 0)


@pytest.mark.parametrize(
    ("columns", "splitting", "message"),
    [
        ({"part": ["train"] * 99 + ["tset"]}, {"parts": "part"}, "train, val or test, got 'tset'"),
        ({"part": ["train"] * 100}, {"parts": "part"}, "must have test nodes among the labelled"),
        ({"g": ["x"] * 100}, {"groups": "g"}, "groups must be at least 5 different ones, got 1"),
        ({"t": ["soon"] * 100}, {"time": "t"}, "numbers or dates like 2024-01-31"),
        ({"t": ["12.2023", "01.2024"] * 50}, {"time": "t"}, "2024-01-31, got '12.2023'"),
        ({"t": [str(k % 2) for k in range(100)]}, {"time": "t"}, "3 different times .*, got 2"),
        ({"t": [""] * 100}, {"time": "t"}, "must be filled for labelled nodes, got none of 0"),
        ({"t": ["nan"] * 100}, {"time": "t"}, "must be filled for labelled nodes, got none of 0"),
        ({"g": ["NA"] * 100}, {"groups": "g"}, "must be filled for labelled nodes, got none of 0"),
        ({}, {"groups": "g"}, "labels must have a column 'g'"),
        ({"t": [str(k) for k in range(99)] + ["inf"]}, {"time": "t"}, "finite numbers, got 'inf'"),
        ({}, {"folds": 81}, "folds must be at most 80, one per node, got 81"),
        (
            {"part": ["train"] * 3 + ["val"] * 47 + ["test"] * 50},
            {"parts": "part"},
            "train on must be of at least 2 classes, got one",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, splitting, message):
    with pytest.raises(ValueError, match=message):
        divide(marked(**columns), np.random.default_rng(0), Splitting(**splitting))
    with pytest.raises(ValueError, match="one at a time"):
        Splitting(groups="a", time="b")


def test_balanced_classes_raise_the_rare_one():
    task = marked()
    rare = torch.zeros(100, dtype=torch.int64)
    rare[::12] = 1
    task = NodeTask("rare", task.graph, task.features, rare, ("usual", "rare"))
    nothing = torch.empty(0, dtype=torch.int64)
    mean = {}
    for balanced in (False, True):
        generator = torch.Generator().manual_seed(0)
        model = make_model("mlp", task, generator)
        plan = TrainingPlan(epochs=30, balanced=balanced)
        fit(model, task, Split(torch.arange(100), nothing, nothing), plan, generator)
        mean[balanced] = float(model(task.features, task.graph).softmax(1)[:, 1].mean().detach())
    assert mean[False] < 0.2
    assert mean[True] > 0.35


def test_biases_mend_a_class_that_is_said_too_often():
    rng = np.random.default_rng(0)
    true = rng.dirichlet([0.6, 0.3, 0.3], 4000)
    labels = np.array([rng.choice(3, p=row) for row in true])
    wrong = cooled(true, 1.6, (1.5, 0.0, -1.0))
    calibration = fit_calibration(labels[:2000], wrong[:2000])
    assert calibration_error(labels[2000:], wrong[2000:]) > 0.08
    assert calibration_error(labels[2000:], calibration.apply(wrong[2000:])) < 0.03
    assert calibration.temperature == pytest.approx(1 / 1.6, rel=0.2)
