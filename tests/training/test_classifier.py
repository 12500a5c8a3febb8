"""The estimator: scikit-learn's conventions on graphs."""

import subprocess
import sys

import numpy as np
import pandas
import pytest
import torch
from sklearn import base
from sklearn.model_selection import GridSearchCV

from elasticgnn.training import ElasticGNNClassifier
from training_task import small_task

TASK = small_task()
TRUTH = TASK.labels.numpy()
PARTLY = np.where(np.arange(TASK.num_nodes) % 5 < 2, TRUTH, -1)


def fitted(X=TASK.features, y=PARTLY, graph=TASK.graph):
    return ElasticGNNClassifier(epochs=60, hidden_channels=16).fit(X, y, graph=graph)


def test_it_finds_the_unknown_classes():
    assert fitted().score(None, TRUTH) > 0.7


def test_every_form_of_input_gives_the_same():
    expected = fitted().predict_proba()
    for X in (TASK.features.to_scipy(), TASK.features):
        for graph in (TASK.graph.to_scipy(), TASK.graph.to_edge_index()[0]):
            assert np.array_equal(fitted(X, graph=graph).predict_proba(), expected)
    dense = fitted(TASK.features.to_dense().numpy()).predict_proba()
    assert np.allclose(dense, expected, atol=1e-4)


@pytest.mark.parametrize("form", ["Graph", "scipy"])
def test_cross_validation_that_cuts_the_rows_is_told_to_hide_labels_instead(form):
    graph = TASK.graph if form == "Graph" else TASK.graph.to_scipy()
    rows = TASK.features.to_dense().numpy()
    grid = {"lambda1": [0.0, 1.0]}
    search = GridSearchCV(ElasticGNNClassifier(epochs=2), grid, cv=2, error_score="raise")
    rule = f"X must have a row for each of the graph's {TASK.num_nodes} nodes, got .*tune=True"
    with pytest.raises(ValueError, match=rule):
        search.fit(rows, TRUTH, graph=graph)


def test_rows_that_change_after_the_fit_do_not_change_what_it_predicts():
    X = TASK.features.to_dense().numpy()
    for rows in (X, torch.from_numpy(X.copy())):
        classifier = ElasticGNNClassifier(epochs=2).fit(rows, PARTLY, graph=TASK.graph)
        before = classifier.predict_proba()
        rows[:] = 0
        assert np.array_equal(classifier.predict_proba(), before)


def test_reversed_and_negated_views_are_read_as_what_they_show():
    X = TASK.features.to_dense().numpy()
    views = (X[::-1].copy()[::-1], torch._neg_view(torch.from_numpy(-X)))
    for rows in (X, *views):
        classifier = ElasticGNNClassifier(epochs=2).fit(rows, PARTLY, graph=TASK.graph)
        expected = classifier.predict_proba(X)
        assert np.array_equal(classifier.predict_proba(rows), expected)


def test_classes_keep_their_names_and_none_is_unknown():
    names = np.array(["red", "green", "blue"], dtype=object)[TRUTH]
    partly = [name if known >= 0 else None for name, known in zip(names, PARTLY, strict=True)]
    model = fitted(y=partly)
    assert list(model.classes_) == ["blue", "green", "red"]
    assert model.score(None, names) > 0.7


def test_missing_values_of_pandas_are_unknown_classes():
    names = pandas.array([None if k < 0 else f"c{k}" for k in PARTLY.tolist()], dtype="string")
    assert names.isna().any()
    assert list(fitted(y=names).predict()) == [f"c{k}" for k in fitted().predict()]


def test_probabilities_add_up_to_one():
    assert np.allclose(fitted().predict_proba().sum(1), 1)


def test_it_predicts_on_another_graph():
    model = fitted()
    other = small_task(seed=5)
    predicted = model.predict(other.features, graph=other.graph)
    assert np.mean(predicted == other.labels.numpy()) > 0.5


def test_a_loaded_estimator_predicts_the_same(tmp_path):
    model = fitted()
    model.save(tmp_path / "m.safetensors")
    again = ElasticGNNClassifier.load(tmp_path / "m.safetensors", TASK.features, graph=TASK.graph)
    assert np.array_equal(again.predict(), model.predict())
    assert again.classes_.dtype.kind == "i"


def test_a_loaded_estimator_needs_no_data_and_keeps_its_parameters(tmp_path):
    path = tmp_path / "m.safetensors"
    model = ElasticGNNClassifier(epochs=9, learning_rate=0.02).fit(
        TASK.features, PARTLY == 0, graph=TASK.graph
    )
    model.save(path)
    again = ElasticGNNClassifier.load(path)
    assert again.get_params() == model.get_params()
    assert again.classes_.tolist() == [False, True]
    predicted = again.predict(TASK.features, graph=TASK.graph)
    assert np.array_equal(predicted, model.predict())
    with pytest.raises(ValueError, match="X and graph must be given"):
        again.predict()


def test_graphs_of_every_usual_form_are_taken():
    expected = fitted().predict_proba()
    index = TASK.graph.to_edge_index()[0].numpy()
    for graph in (TASK.graph.to_networkx(), TASK.graph.to_pyg(), index):
        assert np.array_equal(fitted(graph=graph).predict_proba(), expected)
    fewer = index[:, (index < TASK.num_nodes // 2).all(0)]  # the graph does count
    assert not np.allclose(fitted(graph=fewer).predict_proba(), expected, atol=0.01)


def test_an_edge_index_may_leave_out_the_last_nodes():
    chain = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    model = ElasticGNNClassifier(epochs=2).fit(np.eye(5), [0, 1, 0, 1, None], graph=chain)
    assert model.predict().shape == (5,)


def test_scikit_learn_can_clone_it():
    model = ElasticGNNClassifier(lambda1=6.0)
    assert base.clone(model).get_params() == model.get_params()
    assert model.set_params(lambda1=1.0).lambda1 == 1.0


def test_scikit_learn_is_not_imported():
    code = "import sys, elasticgnn.training; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.full(TASK.num_nodes, -1)}, "y must show at least 2 classes"),
        ({"y": PARTLY[:-1]}, "y must have 90 entries, one per row of X, got 89"),
        ({"X": TASK.features.to_dense()[:50]}, "X must have a row for each of the graph.s 90"),
        ({"X": torch.ones(3)}, r"X must be \(n, f\)"),
        ({"X": np.full((TASK.num_nodes, 2), np.nan)}, "X must hold finite numbers"),
        ({"graph": [[0, 1]]}, "graph must be a Graph"),
        ({"y": ["a", 1] * 45}, "labels must be all texts or all numbers, got 'a' and 1"),
        ({"y": [b"a", b"b"] * 45}, "labels must be texts or numbers, got the bytes b'a'"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted(**arguments)


def test_predicting_before_fitting_is_refused():
    with pytest.raises(ValueError, match="fit must be called before predict"):
        ElasticGNNClassifier().predict()
    with pytest.raises(ValueError, match="parameter must be one of"):
        ElasticGNNClassifier().set_params(lamda=1)
