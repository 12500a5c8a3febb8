"""Small parts of the solver on their own: bounds, rounding, ends of an iteration."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Logistic, minimise
from elasticgnn.solver.certificate.missing import edge_path_bound, laplacian_bound
from elasticgnn.solver.interior_point import mehrotra
from elasticgnn.solver.interior_point.rows import Optimality
from elasticgnn.solver.methods.progress import GapProgress
from elasticgnn.solver.problem.extras import _bound
from elasticgnn.solver.problem.geometry import Geometry
from elasticgnn.solver.problem.instance import build_instance
from elasticgnn.solver.problem.node_terms import Bounds, NodeTerms
from elasticgnn.solver.problem.units import _bounds_move
from elasticgnn.solver.regressor import ElasticRegressor
from solver_signals import chain


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("lambda1", [0.3, 3.0])
def test_no_signal_of_the_objective_bends_more_than_the_bound(order, lambda1):
    graph, x = grid_graph(6, 6, normalization="none"), normal(36, 1)
    penalty = ElasticPenalty(lambda1, 0.0)
    instance = build_instance(x, graph, penalty, None, order)
    solution = minimise(x, graph, penalty, order=order)
    bent = np.abs(Geometry(graph, 1).operator @ solution.value.numpy())
    assert 0 < bent.max() <= laplacian_bound(instance, solution.objective)


@pytest.mark.parametrize(("gap", "step"), [(np.nan, 0.5), (1.0, 1e-9)])
def test_an_iteration_that_leads_nowhere_ends_at_once(monkeypatch, gap, step):
    nowhere = (Optimality(1.0, gap, 0.0, 0.0), step, 0.1)
    monkeypatch.setattr(mehrotra, "_step", lambda *_: nowhere)
    graph, x = grid_graph(5, 5, normalization="none"), normal(25, 1)
    found = minimise(x, graph, ElasticPenalty(0.3, 0.0), order=1, method="interior")
    assert found.steps == 1
    assert not found.certified


def test_a_bound_may_be_given_per_node():
    given = torch.tensor([1.0, 2.0, 3.0])
    assert _bound("lower", given, -np.inf, (3, 2)).tolist() == [[1, 1], [2, 2], [3, 3]]
    with pytest.raises(ValueError, match=r"lower must be a number or have shape \(3,\)"):
        _bound("lower", given[:2], -np.inf, (3, 2))


def test_a_slope_that_is_known_less_well_makes_the_gap_less_sure(monkeypatch):
    shape = (4, 1)
    terms = NodeTerms(Logistic(), 0.0, np.full(shape, -np.inf), np.full(shape, np.inf))
    signal, y, x, weight = np.full(shape, 0.3), np.full(shape, 0.1), np.zeros(shape), np.ones(shape)
    box = Bounds(np.full(shape, -9.0), np.full(shape, 9.0))
    found = []
    for blur in (0.0, 1000.0):
        monkeypatch.setattr(Logistic, "blur", lambda self, t, x, blur=blur: np.full_like(t, blur))
        found.append(terms.gap(weight, x, (signal, y), box, np.zeros(shape))[1])
    assert found[1] > 10 * found[0] > 0


def test_degrees_of_freedom_are_those_of_squares():
    x = (normal(12, 1) > 0).double()
    solution = minimise(x, chain(12), ElasticPenalty(0.2, 0.0), loss=Logistic())
    with pytest.raises(ValueError, match="loss must be 'squared'"):
        solution.degrees_of_freedom(torch.Generator().manual_seed(0))


def test_knots_of_a_weak_penalty_are_where_the_trend_turns():
    t = torch.arange(41, dtype=torch.float64)
    x = 0.1 * (t - 20).abs()[:, None]
    solution = minimise(x, chain(41), ElasticPenalty(0.5, 0.0), order=1)
    assert 0 < len(solution.knots()) <= 3
    assert abs(float(solution.knots().double().mean()) - 20) <= 1


def test_the_bound_is_in_units_of_the_signal():
    graph = grid_graph(4, 4, normalization="degree")
    instance = build_instance(normal(16, 1), graph, ElasticPenalty(0.3, 0.0), None, 2)
    least = float(instance.scale.min())
    assert least < 1
    assert laplacian_bound(instance, 2.0) == pytest.approx(edge_path_bound(instance, 2.0) / least)


def test_all_that_two_stars_send_each_other_fits_through_their_bridge():
    leaves = [(0, k) for k in range(2, 402)] + [(1, k) for k in range(402, 802)]
    graph = Graph.from_edges([(0, 1), *leaves], 802, normalization="degree")
    x = torch.ones(802, dtype=torch.float64)
    x[1], x[402:] = -1, -1
    solution = minimise(x, graph, ElasticPenalty(1e6, 0.0))
    assert solution.method == "forest"
    assert solution.certified


def test_a_bound_is_moved_only_where_the_difference_is_exact():
    endless = np.full((1, 1), np.inf)
    for shift, exact in ((1.2, False), (1.5, True), (6.0, True), (6.1, False), (0.0, True)):
        terms = NodeTerms(Logistic(), 0.0, np.full((1, 1), 3.0), endless)
        assert _bounds_move(terms, np.full((1, 1), shift)) is exact


def test_a_light_value_is_still_the_value():
    graph, y = grid_graph(3, 3, normalization="none"), np.arange(9.0)
    model = ElasticRegressor(graph, lambda1=0.0)
    model.fit(np.arange(9)[:, None], y, sample_weight=np.full(9, 0.25))
    np.testing.assert_allclose(model.value_, y)


def test_a_progress_bar_is_taken_away_in_the_end():
    taken = []
    with GapProgress(1e-6) as progress:
        progress.bar = SimpleNamespace(stop=lambda: taken.append(True))
    assert taken == [True]
