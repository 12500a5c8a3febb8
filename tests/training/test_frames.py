"""The estimators on what people have in Python: tables of pandas, numbers for classes."""

import numpy as np
import pandas
import pytest
from sklearn import base

from elasticgnn.training import ElasticGNNClassifier, ElasticGNNRegressor
from training_task import small_task

TASK = small_task()
TRUTH = TASK.labels.numpy()
PARTLY = np.where(np.arange(TASK.num_nodes) % 5 < 2, TRUTH, -1)


def fitted(X=TASK.features, y=PARTLY):
    return ElasticGNNClassifier(epochs=20, hidden_channels=8).fit(X, y, graph=TASK.graph)


def frame(order=slice(None)):
    """Features as a table of pandas, its columns called and in another order."""
    table = pandas.DataFrame(TASK.features.to_dense().numpy()).add_prefix("x")
    return table[table.columns[order]]


def test_columns_of_a_frame_are_found_by_name(tmp_path):
    classifier = fitted(frame())
    expected = classifier.predict_proba()
    backwards = slice(None, None, -1)
    assert np.array_equal(classifier.predict_proba(frame(backwards), graph=TASK.graph), expected)
    classifier.save(tmp_path / "m.safetensors")
    loaded = ElasticGNNClassifier.load(tmp_path / "m.safetensors")
    assert np.array_equal(loaded.predict_proba(frame(backwards), graph=TASK.graph), expected)
    loaded = ElasticGNNClassifier.load(
        tmp_path / "m.safetensors", frame(backwards), graph=TASK.graph
    )
    assert np.array_equal(loaded.predict_proba(), expected)
    assert classifier.feature_names_in_.tolist() == list(frame().columns)
    assert loaded.feature_names_in_.tolist() == list(frame().columns)


def test_a_column_that_a_frame_lacks_is_refused_by_name():
    with pytest.raises(ValueError, match="got none called 'x0'"):
        fitted(frame()).predict(frame(slice(1, None)), graph=TASK.graph)


def test_columns_without_names_are_those_of_an_array():
    table = pandas.DataFrame(TASK.features.to_dense().numpy())
    classifier = fitted(table)
    assert not hasattr(classifier, "feature_names_in_")
    expected = fitted(TASK.features.to_dense()).predict_proba()
    assert np.array_equal(classifier.predict_proba(), expected)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (frame().assign(city="Rome"), "X must hold numbers, got column 'city' of object"),
        (pandas.concat([frame(), frame()], axis=1), "X must have columns of different names"),
        (np.full((TASK.num_nodes, 2), "a"), "X must hold numbers, got <U1"),
    ],
)
def test_tables_that_are_no_features_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        fitted(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.linspace(0, 1, TASK.num_nodes), "a quantity, for which there is ElasticGNNRegressor"),
        (np.where(TRUTH > 0, 1, -1), "at least 2 classes .-1, None and NaN are unknown"),
    ],
)
def test_numbers_that_are_no_classes_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        fitted(y=y)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_scikit_learn_knows_what_it_is(kind):
    estimator = {"classifier": ElasticGNNClassifier, "regressor": ElasticGNNRegressor}[kind]()
    assert base.is_classifier(estimator) == (kind == "classifier")
    assert base.is_regressor(estimator) == (kind == "regressor")


def test_a_regressor_finds_columns_by_name():
    y = frame()["x0"].to_numpy() + np.arange(TASK.num_nodes) % 7
    regressor = ElasticGNNRegressor(minutes=0.02).fit(frame(), y, graph=TASK.graph)
    predicted = regressor.predict(frame(slice(None, None, -1)), graph=TASK.graph)
    assert np.array_equal(predicted, regressor.predict())
