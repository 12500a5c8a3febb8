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
    for unit in (2.0**-900, 1.0, 2.0**900):
        values = noise_grid(X[:, 0] * unit, graph, seen())
        generator = torch.Generator().manual_seed(0)
        chosen = cross_validate(X[:, 0] * unit, graph, values, generator=generator)
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
