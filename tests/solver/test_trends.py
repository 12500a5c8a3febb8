"""Trend filtering on chains with free ends: polynomials, knots, gaps, paths."""

import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import cross_validate, minimise, minimise_path, noise_grid
from elasticgnn.solver.problem.trend import is_chain
from solver_signals import chain


def bent_line(nodes=200):
    """Slope 0, then 0.2 from node 60, then -0.3 from node 130, and noise of 0.1."""
    t = torch.arange(float(nodes), dtype=torch.float64)
    noise = torch.randn(nodes, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return 0.2 * (t - 60).clamp(min=0) - 0.5 * (t - 130).clamp(min=0) + 0.1 * noise


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_polynomials_of_the_order_are_left_alone(order):
    t = torch.linspace(-1, 1, 30, dtype=torch.float64)
    x = sum((k + 1) * t**k for k in range(order + 1)) + 0 * t
    solution = minimise(x, chain(30), ElasticPenalty(5.0, 0.0), order=order, boundary="free")
    # the differences of a polynomial are zero up to the rounding of its values
    torch.testing.assert_close(solution.value, x, atol=1e-9, rtol=0)


def test_knots_stand_where_the_slope_changes():
    penalty = ElasticPenalty(20.0, 0.0)
    knots = minimise(bent_line(), chain(200), penalty, order=1, boundary="free").knots()
    assert {int(k) for k in knots} <= {58, 59, 60, 61, 62, 128, 129, 130, 131, 132}
    assert min(abs(int(k) - 60) for k in knots) <= 1
    assert min(abs(int(k) - 130) for k in knots) <= 1


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_polynomial_of_the_order_has_no_knots(order, unit):
    line = unit * torch.linspace(0, 10, 300, dtype=torch.float64)[:, None] ** order
    penalty = ElasticPenalty(unit, 0.0)
    assert len(minimise(line, chain(300), penalty, order=order, boundary="free").knots()) == 0


@pytest.mark.parametrize("order", [0, 1])
def test_gaps_are_filled_along_the_trend(order):
    seen = torch.ones(200)
    seen[90:110] = 0.0
    x = bent_line()
    solution = minimise(
        x, chain(200), ElasticPenalty(5.0, 0.0), order=order, boundary="free", data_weight=seen
    )
    assert solution.certified
    if order == 1:
        line = torch.linspace(float(solution.value[89]), float(solution.value[110]), 22)
        torch.testing.assert_close(solution.value[89:111], line.double(), atol=0.1, rtol=0)


def test_free_order_zero_on_a_chain_is_the_graphs_own():
    x, penalty = bent_line(), ElasticPenalty(0.7, 0.0)
    free = minimise(x, chain(200), penalty, boundary="free", rtol=1e-9)
    own = minimise(x, chain(200), penalty, rtol=1e-9)
    assert float((free.value - own.value).norm()) <= free.distance_bound + own.distance_bound


def test_path_and_choice_know_orders():
    x, graph = bent_line(), chain(200)
    path = minimise_path(x, graph, [1.0, 10.0, 100.0], order=1, boundary="free")
    assert path.certified
    assert len(path.solutions[2].knots()) <= len(path.solutions[0].knots())
    chosen = cross_validate(
        x,
        graph,
        noise_grid(x, graph, torch.ones(200), 6, order=1),
        order=1,
        boundary="free",
        generator=torch.Generator().manual_seed(0),
    )
    assert chosen.certified
    # what is left over is the noise of 0.1, and little else
    assert 0.005 < float((chosen.solution.value - x).square().mean()) < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, r"order must be one of \(0, 1, 2\) unless boundary is 'free'"),
        ({"order": -1}, "order must be an integer >= 0"),
        ({"boundary": "open"}, "boundary must be one of"),
        ({"order": 1, "boundary": "free"}, "boundary must be 'graph' unless the graph is a chain"),
    ],
)
def test_orders_that_a_graph_does_not_have_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        minimise(torch.zeros(6), grid_graph(3, 2), ElasticPenalty(1.0, 0.0), **options)


def test_edges_of_weight_zero_make_no_chain_and_break_none():
    ring = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]
    assert not is_chain(Graph.from_edges([*ring, (3, 0, 1.0)]))
    assert is_chain(Graph.from_edges([*ring, (3, 0, 0.0)]))
    assert is_chain(Graph.from_edges([(0, 1), (2, 3)]))
    assert not is_chain(Graph.from_edges([(0, 1), (0, 2), (0, 3)]))
