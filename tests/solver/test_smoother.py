"""The scikit-learn face of the solver."""

import pickle

import numpy as np
import pandas
import pytest
import torch
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
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
