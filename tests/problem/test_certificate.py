"""The dual bound is a bound, the gap closes, and diagnostics name the right edges."""

import cvxpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty
from elasticgnn.operator import elastic_state
from elasticgnn.problem import certify, diagnose_edges, dual_value, primal_value
from elasticgnn.problem.penalties.registry import penalty_by_name
from strategies import graphs, normal_rows, random_graph

STRENGTHS = st.sampled_from([0.0, 0.05, 0.5, 3.0])


@given(
    graph=graphs(),
    lambda1=STRENGTHS,
    lambda2=STRENGTHS,
    norm=st.sampled_from(["l1", "l21"]),
    seed=st.integers(0, 99),
)
def test_no_signal_is_below_the_bound_of_any_dual(graph, lambda1, lambda2, norm, seed):
    penalty = ElasticPenalty(lambda1, lambda2, norm)
    x = normal_rows(graph.num_nodes, 2, seed=seed)
    signal = normal_rows(graph.num_nodes, 2, seed=seed + 1)
    certificate = certify(signal, normal_rows(graph.num_edges, 2, seed=seed + 2), x, graph, penalty)
    other = primal_value(normal_rows(graph.num_nodes, 2, seed=seed + 3), x, graph, penalty)
    assert certificate.gap >= -1e-9 * abs(certificate.primal)
    assert certificate.dual <= float(other) + 1e-9 * abs(float(other))


@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("lambda2", [0.0, 0.7])
@pytest.mark.parametrize("normalization", ["degree", "none"])
def test_gap_closes_at_the_outside_solver_optimum(norm, lambda2, normalization):
    graph = random_graph(12, 25, weighted=True, normalization=normalization)
    x = normal_rows(12, 2)
    penalty = ElasticPenalty(0.3, lambda2, norm)
    signal = cvxpy.Variable((12, 2))
    scaled = cvxpy.multiply(graph.scale.numpy()[:, None], signal)
    rows = scaled[graph.tail.numpy()] - scaled[graph.head.numpy()]
    size = cvxpy.norm(rows, 1 if norm == "l1" else 2, axis=1)
    weight = graph.weight.numpy()
    objective = (
        0.3 * weight @ size
        + lambda2 / 2 * weight @ cvxpy.sum(cvxpy.square(rows), axis=1)
        + cvxpy.sum_squares(signal - x.numpy()) / 2
    )
    outside = cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL)
    state = elastic_state(x, graph, penalty, 3000)
    ours = certify(state.signal, state.dual, x, graph, penalty)
    assert ours.gap <= 1e-8
    assert ours.primal == pytest.approx(outside, rel=1e-6)
    assert float((state.signal - torch.from_numpy(signal.value)).norm()) < 1e-3


@pytest.mark.parametrize("norm", ["mcp", "scad"])
def test_concave_penalties_reach_a_point_that_is_certified_local(norm):
    graph = random_graph(30, 70, weighted=True)
    x = normal_rows(30, 3)
    penalty = ElasticPenalty(0.3, 1.0, norm)
    state = elastic_state(x, graph, penalty, 500)
    certificate = certify(state.signal, state.dual, x, graph, penalty)
    assert certificate.scope == "local"
    assert abs(certificate.gap) < 1e-9


@given(norm=st.sampled_from(["l1", "l21"]), radius=st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_projection_is_idempotent_and_inside_the_ball(norm, radius):
    ball = torch.tensor([radius], dtype=torch.float64)
    penalty = penalty_by_name(norm)
    once = penalty.project(normal_rows(9, 4), ball, ball)
    assert float(penalty.dual_norm(once).max()) <= radius * (1 + 1e-12)
    torch.testing.assert_close(penalty.project(once, ball, ball), once)


def test_dual_outside_the_ball_bounds_nothing_without_lambda2():
    graph = random_graph(5, 8)
    dual = torch.full((graph.num_edges, 1), 2.0, dtype=torch.float64)
    penalty = ElasticPenalty(1.0, 0.0)
    assert float(dual_value(dual, normal_rows(5, 1), graph, penalty)) == float("-inf")


def test_diagnostics_find_the_one_jump_of_a_path():
    from elasticgnn import Graph

    graph = Graph.from_edges([(i, i + 1) for i in range(9)], normalization="none")
    x = torch.tensor([0.0] * 5 + [10.0] * 5, dtype=torch.float64)[:, None]
    penalty = ElasticPenalty(0.5, 0.0)
    state = elastic_state(x, graph, penalty, 3000)
    report = diagnose_edges(state.signal, state.dual, x, graph, penalty)
    assert report.is_saturated.nonzero().flatten().tolist() == [4]
    assert (~report.is_zero).nonzero().flatten().tolist() == [4]
    assert float(report.difference[4]) == pytest.approx(10 - 2 * 0.5 / 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(lambda1=-1.0), "lambda1 must be a number >= 0, got -1.0"),
        (dict(lambda1=float("nan")), "lambda1 must be a number >= 0, got nan"),
        (dict(lambda1=float("inf")), "lambda1 must be a number >= 0, got inf"),
        (dict(lambda1="3"), "lambda1 must be a number >= 0, got '3'"),
        (dict(lambda2=-2.0), "lambda2 must be a number >= 0 or inf, got -2.0"),
        (dict(lambda2=torch.tensor([1.0, -1.0])), "lambda2 must be a number >= 0 or inf, got -1.0"),
        (dict(lambda1=torch.ones(2, 2)), "lambda1 must be a float scalar or vector"),
        (dict(norm="l0"), "norm must be one of"),
        (dict(norm="l21", concavity=3.0), "concavity must be None for norm 'l21'"),
        (dict(norm="mcp", concavity=-1.0), "concavity must be a number > 0, got -1.0"),
    ],
)
def test_bad_penalty_is_refused_by_message(arguments, message):
    with pytest.raises(ValueError, match=message):
        ElasticPenalty(**arguments)


def test_certificate_of_plain_aggregation_is_refused():
    graph, x = random_graph(4, 5), normal_rows(4, 1)
    dual = normal_rows(graph.num_edges, 1)
    with pytest.raises(ValueError, match="lambda2 must be finite"):
        certify(x, dual, x, graph, ElasticPenalty(1.0, float("inf")))


def test_the_distance_bound_is_reached_where_nothing_couples_the_nodes():
    graph = random_graph(8, 12, seed=3)
    x = normal_rows(graph.num_nodes, 2, seed=0).double()
    signal = normal_rows(graph.num_nodes, 2, seed=1).double()
    dual = torch.zeros(graph.num_edges, 2, dtype=torch.float64)
    found = certify(signal, dual, x, graph, ElasticPenalty(0.0, 0.0))
    assert found.distance_bound == pytest.approx(float((signal - x).norm()), rel=1e-9)
