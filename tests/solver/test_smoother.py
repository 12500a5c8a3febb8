"""The scikit-learn face of the solver."""

import pickle

import numpy as np
import pandas
import polars
import pytest
import torch
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
from elasticgnn.solver.regressor import ElasticRegressor
from elasticgnn.solver.smoother import EXPECTED_FAILED_CHECKS, ElasticSmoother
from solver_signals import chain, random_graph, steps


# scikit-learn warns of checks that do not apply (array API, sparse containers); those that fail are
# listed with their reasons in EXPECTED_FAILED_CHECKS, and the test wants exactly these to fail
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_checks_fail_only_where_expected():
    results = check_estimator(
        ElasticSmoother(), expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail=None
    )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert failed == []
    expected = {r["check_name"] for r in results if r["status"] == "xfail"}
    assert expected == set(EXPECTED_FAILED_CHECKS)


def test_smoother_gives_the_solution_and_its_certificate():
    graph = random_graph(4, 15)
    rows = np.random.default_rng(0).normal(size=(15, 2))
    smoother = ElasticSmoother(0.3, 0.2, "l1").fit(rows, graph=graph)
    solution = minimise(torch.from_numpy(rows), graph, ElasticPenalty(0.3, 0.2, "l1"))
    np.testing.assert_array_equal(smoother.transform(rows), solution.value.numpy())
    assert smoother.gap_ == solution.gap
    assert smoother.certified_
    assert smoother.boundary_edges_.shape == (len(solution.boundary()), 2)
    np.testing.assert_array_equal(smoother.pieces_, solution.pieces().numpy())


def test_clone_and_pickle_keep_the_settings():
    smoother = ElasticSmoother(0.3, order=1)
    assert clone(smoother).get_params() == smoother.get_params()
    rows = steps(torch.Generator().manual_seed(0)).numpy()
    fitted = ElasticSmoother(0.3).fit(rows, graph=chain(120))
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(rows), fitted.transform(rows))


def test_pandas_output_keeps_the_names_and_rows():
    frame = pandas.DataFrame({"a": [0.0, 1.0, 5.0], "b": [1.0, 1.0, 2.0]}, index=list("xyz"))
    out = ElasticSmoother(0.1).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["a", "b"]
    assert list(out.index) == ["x", "y", "z"]


def test_missing_rows_are_interpolated():
    rows = np.array([[0.0], [9.0], [2.0]])
    value = ElasticSmoother(0.0, 1.0).fit_transform(rows, sample_weight=[1, 0, 1])
    assert value[0] < value[1] < value[2] < 2.0


def test_graph_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"X must have one row per node of the graph \(4\), got 3"):
        ElasticSmoother().fit(np.zeros((3, 1)), graph=chain(4))


def test_graph_may_stand_in_the_constructor_and_survives_a_clone():
    graph, rows = random_graph(4, 15), np.random.default_rng(0).normal(size=(15, 2))
    held = clone(ElasticSmoother(0.3, graph=graph)).fit(rows)
    np.testing.assert_array_equal(held.value_, ElasticSmoother(0.3).fit(rows, graph=graph).value_)


def test_nan_is_a_missing_value_and_is_filled():
    rows = np.array([[0.0, 5.0], [np.nan, 5.0], [0.1, np.nan], [0.2, 5.0]])
    value = ElasticSmoother(0.01).fit_transform(rows)
    assert np.isfinite(value).all()
    assert value[2, 1] == pytest.approx(5.0, abs=0.1)


def test_other_rows_are_smoothed_with_the_same_sample_weights():
    rows, weight = np.array([[0.0], [9.0], [2.0]]), [1, 0, 1]
    smoother = ElasticSmoother(0.0, 1.0).fit(rows, sample_weight=weight)
    other = rows + np.array([[1.0], [-50.0], [1.0]])
    expected = ElasticSmoother(0.0, 1.0).fit_transform(other, sample_weight=weight)
    np.testing.assert_allclose(smoother.transform(other), expected)


def test_polars_output_keeps_the_names():
    out = ElasticSmoother(0.1).set_output(transform="polars")
    frame = out.fit_transform(polars.DataFrame({"a": [0.0, 1.0, 5.0], "b": [1.0, 1.0, 2.0]}))
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["a", "b"]


def test_grid_search_leaves_out_nodes_and_finds_the_strength():
    values = steps(torch.Generator().manual_seed(3)).numpy()[:, 0]
    search = GridSearchCV(
        ElasticRegressor(chain(120)),
        {"lambda1": [1e-3, 0.4, 100.0]},
        cv=KFold(5, shuffle=True, random_state=0),
    ).fit(np.arange(120)[:, None], values)
    assert search.best_params_ == {"lambda1": 0.4}
    assert search.best_estimator_.certified_
    assert search.best_estimator_.score(np.arange(120)[:, None], values) > 0.9


def test_nodes_that_the_graph_does_not_have_are_refused():
    with pytest.raises(ValueError, match=r"node numbers below 4, got 4"):
        ElasticRegressor(chain(4)).fit([[0], [4]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([0.0] * 4, "sample_weight must not be zero everywhere"),
        ([1.0, -1.0, 1.0, 1.0], r"sample_weight must be finite and >= 0, got -1\.0"),
        ([1.0, np.nan, 1.0, 1.0], "sample_weight must be finite and >= 0, got nan"),
        ([1.0, 1.0], r"sample_weight must have shape \(4,\), got \(2,\)"),
    ],
)
def test_sample_weights_are_refused_by_their_name(weight, words):
    values = np.array([0.0, 1.0, 5.0, 5.0])
    with pytest.raises(ValueError, match=words):
        ElasticSmoother().fit(values[:, None], sample_weight=weight)
    with pytest.raises(ValueError, match=words):
        ElasticRegressor(chain(4)).fit(np.arange(4)[:, None], values, sample_weight=weight)


@pytest.mark.parametrize("wrong", ["roads.csv", np.eye(3), 7])
def test_what_is_no_graph_is_refused_in_words(wrong):
    with pytest.raises((TypeError, ValueError), match="graph must be"):
        ElasticSmoother(graph=wrong).fit(np.zeros((3, 1)))
    with pytest.raises((TypeError, ValueError), match="graph must be"):
        ElasticRegressor(wrong).fit([[0]], [1.0])


@pytest.mark.parametrize("nodes", [[["a"], ["b"]], [[0, 1], [1, 2]], [[True], [False]]])
def test_nodes_that_are_no_numbers_are_refused_in_words(nodes):
    with pytest.raises(ValueError, match=r"X must be \(m, 1\) node numbers below 4, got"):
        ElasticRegressor(chain(4)).fit(nodes, [1.0, 2.0])


def test_the_graph_is_routed_through_a_pipeline():
    rows = np.random.default_rng(0).normal(size=(15, 2))
    rows[3, 1], graph = np.nan, random_graph(4, 15)
    with config_context(enable_metadata_routing=True):
        smoother = ElasticSmoother(0.1).set_fit_request(graph=True, sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        line = make_pipeline(scaler, smoother)
        out = line.fit_transform(rows, graph=graph, sample_weight=np.ones(15))
    assert line[-1].graph_ is graph
    assert np.isfinite(out).all()


def test_a_search_that_would_leave_out_rows_of_the_graph_says_what_to_take():
    with pytest.raises(ValueError, match="take ElasticRegressor"):
        ElasticSmoother(graph=chain(6)).fit(np.zeros((4, 1)))


def test_polars_nulls_are_missing_values_and_frames_name_nodes():
    rows = polars.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3]})
    out = ElasticSmoother(0.1).set_output(transform="polars").fit_transform(rows)
    assert out["a"].null_count() == 0
    fitted = ElasticRegressor(chain(3), 0.1).fit(polars.DataFrame({"node": [0, 2]}), [1.0, 3.0])
    named = fitted.predict(pandas.DataFrame({"node": [0, 1, 2]}))
    assert named[0] < 1.5 < 2.5 < named[2]


def test_a_component_without_values_gets_the_best_constant_of_the_loss():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], normalization="none")
    nodes, y = [[0], [1], [2]], [1.0, 2.0, 30.0]
    for options, constant in (
        ({}, 11.0),
        ({"upper": 5.0}, 5.0),
        ({"loss": "quantile:0.5"}, 2.0),
    ):
        found = ElasticRegressor(graph, 1e-3, **options).fit(nodes, y)
        assert found.predict([[3], [4]]) == pytest.approx([constant] * 2, abs=1e-4)


def test_the_regressor_fits_trends_with_free_ends():
    found = ElasticRegressor(chain(6), 10.0, order=1, boundary="free")
    found.fit([[0], [1], [5]], [0.0, 2.0, 10.0])
    assert found.predict([[3]]) == pytest.approx([6.0], abs=1e-4)
