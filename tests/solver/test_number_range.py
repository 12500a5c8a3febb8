"""At the ends of the number range: an answer with its verdict, or a refusal, and no warning."""

import itertools
import math
import warnings

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import cross_validate, lambda1_max, minimise, minimise_path, noise_grid
from solver_signals import chain

ENDS = (5e-324, 1e-310, 1e154, 1e300, 1.7e308)
GRAPHS = {
    "chain": chain(12),
    "grid": grid_graph(4, 3, normalization="none"),
    "scaled": grid_graph(4, 3),
}
X = torch.from_numpy(np.random.default_rng(0).normal(size=(12, 2)))


def seen(*missing: int) -> torch.Tensor:
    weight = torch.ones(12, dtype=torch.float64)
    weight[list(missing)] = 0.0
    return weight


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("strength", ENDS)
@pytest.mark.parametrize("name", GRAPHS)
def test_lambda2_at_an_end_of_the_range(name, strength, order):
    for unit, lambda1, weight in ((1.0, 1e-310, seen(2, 7)), (1e300, 1.0, seen())):
        penalty = ElasticPenalty(lambda1, strength)
        solution = minimise(
            X * unit, GRAPHS[name], penalty, order=order, data_weight=weight, max_steps=50
        )
        assert torch.isfinite(solution.value).all()
        assert not math.isnan(solution.gap)
        assert "objective" in solution.summary()
        assert len(solution.pieces()) == 12


@pytest.mark.parametrize("lambda2", [1.0, 1e300])
@pytest.mark.parametrize("order", [0, 1, 3])
def test_free_trends_at_an_end_of_the_range(order, lambda2):
    options = {"order": order, "boundary": "free", "data_weight": seen(2, 7), "max_steps": 50}
    for unit in (1e-300, 1.0, 1e300):
        solution = minimise(
            X[:, 0] * unit, GRAPHS["chain"], ElasticPenalty(1e30, lambda2), **options
        )
        assert torch.isfinite(solution.value).all()
        assert not math.isnan(solution.relative_gap)


@pytest.mark.parametrize("unit", [1e-300, 1e300])
@pytest.mark.parametrize("name", GRAPHS)
def test_paths_and_choices_at_an_end_of_the_range(name, unit):
    x, graph = X[:, 0] * unit, GRAPHS[name]
    assert lambda1_max(x, graph).value > 0
    path = minimise_path(x, graph, [1e-300, unit, 1e300], lambda2=1e300)
    assert all(torch.isfinite(one.value).all() for one in path)
    for criterion in ("cv", "sure"):
        generator = torch.Generator().manual_seed(0)
        values = noise_grid(x, graph, seen())
        chosen = cross_validate(x, graph, values, criterion=criterion, generator=generator)
        assert torch.isfinite(chosen.solution.value).all()


def test_the_choice_does_not_depend_on_the_unit():
    graph, places = GRAPHS["chain"], set()
    x, given = X[:, 0].clone(), seen(5)
    x[5] = torch.nan
    for unit in (2.0**-900, 1.0, 2.0**900):
        values = noise_grid(x * unit, graph, given)
        options = {"data_weight": given, "generator": torch.Generator().manual_seed(0)}
        chosen = cross_validate(x * unit, graph, values, **options)
        places.add(values.index(chosen.lambda1))
    assert len(places) == 1


def test_a_weight_at_an_end_of_the_range():
    weight = torch.tensor([1e-300, 1e300] * 5 + [1.0], dtype=torch.float64)
    index = torch.stack([torch.arange(11), torch.arange(1, 12)])
    graph = Graph.from_edge_index(index, 12, weight, undirected=True, normalization="none")
    for order, loss in itertools.product((0, 1, 2), ("squared", "huber:1")):
        solution = minimise(
            X, graph, ElasticPenalty(1.0, 1.0), order=order, loss=loss, max_steps=50
        )
        assert torch.isfinite(solution.value).all()


@pytest.mark.parametrize("method", ["ascent", "papc", "precise"])
def test_an_infinite_objective_is_not_certified(method):
    """Its gap is infinite too, and an infinite gap is within any share of it."""
    index, weight = torch.tensor([[0, 1], [1, 2]]), torch.full((2,), 1e300, dtype=torch.float64)
    graph = Graph.from_edge_index(index, 3, weight, undirected=True, normalization="none")
    for lambda1, lambda2 in ((1e30, 0.0), (0.0, 1e30), (1e290, 1e290)):
        penalty = ElasticPenalty(lambda1, lambda2)
        solution = minimise(X[:3], graph, penalty, method=method, max_steps=1)
        flat = float(solution.value.std(0).max()) == 0
        assert flat or not solution.certified
        assert solution.relative_gap == math.inf or math.isfinite(solution.objective)


def ring(*weights: float) -> Graph:
    """A triangle for each weight."""
    index = torch.tensor([[0, 1, 0], [1, 2, 2]])
    ends = torch.cat([index + 3 * k for k in range(len(weights))], 1)
    every = torch.tensor(weights, dtype=torch.float64).repeat_interleave(3)
    return Graph.from_edge_index(
        ends, 3 * len(weights), every, undirected=True, normalization="none"
    )


def test_rows_count_though_their_squares_are_0():
    small, usual = (
        minimise(X[:3], ring(w), ElasticPenalty(1 / w, 0.0), order=1, method="ascent", max_steps=0)
        for w in (2.0**-700, 1.0)
    )
    assert small.objective == pytest.approx(usual.objective)


def test_short_differences_of_heavy_edges_count():
    """The compiled loops add up squares too."""
    x, graph = torch.cat([X[:3], 1e-170 * X[3:6]]), ring(1.0, 1e200)
    solution = minimise(x, graph, ElasticPenalty(0.1, 0.0), method="ascent")
    apart = solution.value[3:].amax(0) - solution.value[3:].amin(0)
    assert solution.objective >= 0.1 * 1e200 * float(apart.max())


@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_strength_that_tiny_weights_make_usual_is_refused_not_cut_off(order, norm):
    """In the solver's units strengths end at 1e290, which 1e-300 times makes no signal flat."""
    for strengths, name in (((1e300, 0.0), "lambda1"), ((0.0, 1e300), "lambda2")):
        with pytest.raises(ValueError, match=f"{name} must be at most 1e.290 .* got 1e.300"):
            minimise(X[:3], ring(1e-300), ElasticPenalty(*strengths, norm), order=order)
    with pytest.raises(ValueError, match="lambda1 must be at most"):
        minimise_path(X[:3], ring(1e-300), [1.0, 1e300], norm=norm, order=order)
    options = {"channel_strength": torch.tensor([1.0, 1e-300], dtype=torch.float64)}
    with pytest.raises(ValueError, match="lambda1 must be at most"):
        minimise(X[:3], ring(1.0), ElasticPenalty(1e300, 0.0, norm), order=order, **options)


def test_a_strength_beyond_the_range_is_refused_where_its_size_is_in_the_objective():
    ends = torch.tensor([[0.0, 2.0, 2.0], [1.0, 3.0, 3.0]], dtype=torch.float64)
    bounds = {"lower": ends[0], "upper": ends[1]}
    with pytest.raises(ValueError, match=r"lambda1 must be at most .* bounds keep nodes apart"):
        minimise(X[:3, 0], ring(1.0), ElasticPenalty(1e300, 0.0), **bounds)
    with pytest.raises(ValueError, match=r"sparsity must be at most .* got 1e.300"):
        minimise(X[:3, 0], ring(1.0), ElasticPenalty(1.0, 0.0), lower=1.0, sparsity=1e300)
    met = minimise(X[:3, 0], ring(1.0), ElasticPenalty(1e300, 0.0), lower=1.0, upper=3.0)
    assert met.certified


def test_the_largest_strength_of_a_forest_with_tiny_weights():
    usual = lambda1_max(X[:, 0], chain(12)).value
    index, weight = torch.stack([torch.arange(11), torch.arange(1, 12)]), 2.0**-1000
    weights = torch.full((11,), weight, dtype=torch.float64)
    graph = Graph.from_edge_index(index, 12, weights, undirected=True, normalization="none")
    assert lambda1_max(X[:, 0], graph).value == pytest.approx(usual / weight)


def test_thresholds_beyond_the_range_in_units_of_the_data():
    far = minimise(1e-100 * X, GRAPHS["grid"], ElasticPenalty(1e-100, 0.0), loss="huber:1e300")
    assert torch.isfinite(far.value).all()
    with pytest.raises(ValueError, match=r"threshold must be within .* units of the data, got 1e-"):
        minimise(1e100 * X, GRAPHS["grid"], ElasticPenalty(1e-300, 0.0), loss="huber:1e-300")
