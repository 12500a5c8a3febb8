"""Other losses, bounds, a lasso on the nodes and strengths per row or channel."""

import itertools
import math

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import (
    Extras,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
    cross_validate,
    minimise,
    minimise_path,
)
from elasticgnn.solver.problem.instance import build_instance
from elasticgnn.solver.problem.node_terms import Bounds, NodeTerms
from solver_signals import chain, random_graph

ALL = (Squared(), Huber(0.7), Quantile(0.3), Logistic(), Poisson())
named = pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)


def observations(loss, shape, seed=0):
    rng = np.random.default_rng(seed)
    if loss.name == "logistic":
        values = (rng.random(shape) < 0.5).astype(float)
        values[0], values[-1] = 0.0, 1.0
    elif loss.name == "poisson":
        values = rng.poisson(2.0, shape).astype(float)
        values[0] = 1.0
    else:
        values = 3 * rng.normal(size=shape)
    return torch.from_numpy(values)


def some_weights(shape, seed=0):
    """Random weights with gaps, none at the ends."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=shape) * (rng.random(shape) < 0.8)
    weight[0] = weight[-1] = 1.0
    return torch.from_numpy(weight)


def outside_answer(instance):
    """The minimiser and least objective according to cvxpy with Clarabel."""
    import cvxpy as cp

    terms, x, c = instance.terms, instance.x, instance.data_weight
    signal = cp.Variable(x.shape)
    off, level = signal - x, getattr(terms.loss, "level", 0.5)
    per_entry = {
        "squared": lambda: cp.square(off) / 2,
        "huber": lambda: cp.huber(off, terms.loss.threshold) / 2,
        "quantile": lambda: cp.maximum(-level * off, (1 - level) * off),
        "logistic": lambda: cp.logistic(signal) - cp.multiply(x, signal),
        "poisson": lambda: cp.exp(signal) - cp.multiply(x, signal),
    }[terms.loss.name]()
    factor = np.ones((instance.num_rows, 1)) * instance.channel_factor
    rows = cp.multiply(factor, instance.operator @ signal)
    size = cp.norm(rows, 1 if instance.norm == "l1" else 2, axis=1)
    root = np.sqrt(instance.row_weight)[:, None] * np.ones((1, x.shape[1]))
    loss = cp.sum(cp.multiply(c, per_entry)) + terms.sparsity * cp.sum(cp.abs(signal))
    loss += instance.lambda1 * (instance.row_weight @ size)
    loss += instance.lambda2 / 2 * cp.sum_squares(cp.multiply(root, rows))
    ends = ((terms.lower, 1), (terms.upper, -1))
    limits = [
        sign * signal[np.isfinite(b)] >= sign * b[np.isfinite(b)]
        for b, sign in ends
        if np.isfinite(b).any()
    ]
    cp.Problem(cp.Minimize(loss), limits).solve(solver="CLARABEL")
    return np.clip(signal.value, terms.lower, terms.upper)


def objective(instance, signal):
    """P by its definition."""
    rows = (instance.operator @ signal) * instance.channel_factor
    size = np.abs(rows).sum(1) if instance.norm == "l1" else np.linalg.norm(rows, axis=1)
    penalty = instance.lambda1 * size + instance.lambda2 / 2 * (rows**2).sum(1)
    data = instance.terms.value(instance.data_weight, instance.x, signal)
    return data + float((instance.row_weight * penalty).sum())


@named
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("extra", [{}, {"sparsity": 0.3, "lower": -0.5, "upper": 1.0}])
def test_the_answer_is_certified_and_that_of_an_outside_solver(loss, order, extra):
    graph, seed = grid_graph(3, 4, normalization=("none", "degree")[order % 2]), 10 * order
    x, weight = observations(loss, (12, 2), seed), some_weights((12, 2), seed)
    strength = torch.from_numpy(0.2 + np.random.default_rng(seed).exponential(size=2))
    extras = Extras(loss, channel_strength=strength, **({"sparsity": 1e-9} | extra))
    penalty = ElasticPenalty(0.4, 0.2 * order, ("l21", "l1")[order % 2])
    found = minimise(x, graph, penalty, data_weight=weight, order=order, **extras.options)
    instance = build_instance(x, graph, penalty, weight, order, "graph", extras)
    best = objective(instance, outside_answer(instance))
    assert found.certified
    assert found.objective == pytest.approx(objective(instance, found.value.numpy()), rel=1e-9)
    assert found.objective - found.gap <= best * (1 + 1e-12)
    assert found.objective <= best * (1 + 1e-5)
    if extra:
        assert float(found.value.min()) >= -0.5
        assert float(found.value.max()) <= 1.0


@named
def test_no_value_is_better_than_the_one_of_the_conjugate(loss):
    """y t - f(t) on a fine grid of the box never exceeds what the certificate takes."""
    rng = np.random.default_rng(1)
    x = observations(loss, (40, 1)).numpy()
    weight = rng.exponential(size=(40, 1)) * (rng.random((40, 1)) < 0.8)
    y = rng.normal(size=(40, 1))
    terms = NodeTerms(loss, 0.3, np.full((40, 1), -2.0), np.full((40, 1), np.inf))
    box = Bounds(np.full((40, 1), -4.0), np.full((40, 1), 3.0))
    best = terms.best(weight, x, y, box)
    grid = np.linspace(-2.0, 3.0, 2001)[None, :]

    def worth(t):
        return y * t - weight * loss.value(t, x + 0 * t) - 0.3 * np.abs(t)

    assert bool((worth(grid).max(1, keepdims=True) <= worth(best) + 1e-12).all())


@named
def test_slopes_and_rises_are_those_of_the_value(loss):
    x = observations(loss, (30,)).numpy()
    t = np.random.default_rng(2).normal(size=30)
    rise, noise = loss.rise(t + 1e-5, t - 1e-5, x)
    edge = loss.edge_radius * np.sign(t - x)
    if loss.name == "huber":
        edge = np.clip(t - x, -loss.threshold, loss.threshold)
    np.testing.assert_allclose(rise / 2e-5, loss.smooth_slope(t, x) + edge, atol=1e-4)
    np.testing.assert_allclose(rise, loss.value(t + 1e-5, x) - loss.value(t - 1e-5, x), atol=1e-13)
    assert bool((noise >= 0).all())
    low, high = loss.sublevel(x, loss.value(t, x))
    assert bool(((low <= t + 1e-9) & (t <= high + 1e-9)).all())


def test_the_squared_loss_is_the_level_at_the_ends_of_its_interval():
    x, level = np.array([0.0, -3.0, 7.0]), np.array([0.5, 2.0, 0.0])
    for end in Squared().sublevel(x, level):
        np.testing.assert_allclose(Squared().value(end, x), level, rtol=1e-12)


@pytest.mark.parametrize("loss", [Huber(0.5), Quantile(0.3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("unit", [2.0**-400, 2.0**400])
def test_the_unit_of_the_data_changes_nothing_but_the_unit(loss, unit):
    x, graph = observations(loss, (30,)), chain(30)
    other = Huber(0.5 * unit) if loss.name == "huber" else loss
    strength = unit if loss.name == "huber" else 1.0
    plain = minimise(x, graph, ElasticPenalty(0.3, 0.0), loss=loss)
    scaled = minimise(x * unit, graph, ElasticPenalty(0.3 * strength, 0.0), loss=other)
    assert plain.certified
    assert scaled.certified
    assert torch.equal(scaled.value, plain.value * unit)


def test_outliers_do_not_move_the_median_or_a_huber_fit():
    x = torch.cat([torch.zeros(20), torch.ones(20)]).double()
    x[7] = 1e3
    for loss in (Huber(0.1), Quantile(0.5)):
        found = minimise(x, chain(40), ElasticPenalty(0.3, 0.0), loss=loss)
        assert found.certified
        assert float(found.value[:20].max()) < 0.1
        assert found.distance_bound == math.inf


def test_a_lasso_gives_exact_zeros_and_bounds_are_kept_exactly():
    generator = torch.Generator().manual_seed(0)
    x = 0.2 * torch.randn(60, generator=generator, dtype=torch.float64)
    x[20:40] += 3
    found = minimise(x, chain(60), ElasticPenalty(0.5, 0.0), sparsity=0.3, upper=2.0)
    assert found.certified
    assert bool((found.value[:19] == 0).all())
    assert float(found.value.max()) == 2.0
    assert int(found.pieces().max()) + 1 == 3


def test_counts_give_rates_and_labels_probabilities():
    counts = torch.tensor([1.0, 0, 2, 1, 9, 8, 10, 9], dtype=torch.float64)
    found = minimise(counts, chain(8), ElasticPenalty(0.5, 0.0), loss="poisson")
    assert found.certified
    torch.testing.assert_close(found.mean, found.value.exp())
    assert float(found.mean.sum()) == pytest.approx(float(counts.sum()), rel=1e-3)
    labels = (counts > 5).double()
    chance = minimise(labels, chain(8), ElasticPenalty(0.3, 0.0), loss="logistic").mean
    assert bool(((chance > 0) & (chance < 1)).all())


@pytest.mark.parametrize("method", ["forest", "interior", "ascent"])
def test_a_strength_per_row_is_a_weight_of_the_edge(method):
    graph, x = chain(20), observations(Squared(), (20,))
    strength = torch.linspace(0.1, 2.0, 19, dtype=torch.float64)
    penalty = ElasticPenalty(0.7, 0.0)
    given = minimise(x, graph, penalty, row_strength=strength, method=method)
    weighted = minimise(x, graph.with_weight(strength), penalty, method=method)
    assert given.certified
    torch.testing.assert_close(given.value, weighted.value)


def test_the_papers_steps_are_short_enough_for_strong_rows():
    graph, x = chain(20), observations(Squared(), (20,))
    strength, penalty = torch.full((19,), 100.0), ElasticPenalty(0.01, 0.01)
    options = {"row_strength": strength, "rtol": 1e-9}
    paper = minimise(x, graph, penalty, method="papc", max_steps=20_000, **options)
    assert paper.certified, paper.summary()
    other = minimise(x, graph, penalty, **options)
    torch.testing.assert_close(paper.value, other.value, atol=1e-3, rtol=0)


def test_a_strength_per_channel_is_a_strength_of_its_own_where_channels_are_alone():
    graph, x = chain(20), observations(Squared(), (20, 2))
    both = minimise(
        x, graph, ElasticPenalty(0.5, 0.0, "l1"), channel_strength=torch.tensor([1.0, 3.0])
    )
    alone = [minimise(x[:, k], graph, ElasticPenalty(0.5 * (1, 3)[k], 0.0)).value for k in (0, 1)]
    assert both.certified
    torch.testing.assert_close(both.value, torch.stack(alone, 1))


def test_a_path_and_a_choice_take_losses():
    counts = torch.poisson(
        torch.tensor([2.0, 9.0]).repeat_interleave(30), generator=torch.Generator().manual_seed(0)
    ).double()
    extras = Extras("poisson")
    path = minimise_path(counts, chain(60), [0.5, 2.0, 15.0], extras=extras)
    assert path.certified
    counted = [int(one.pieces().max()) for one in path]
    assert counted[0] > counted[1] > counted[2] > 0
    chosen = cross_validate(
        counts,
        chain(60),
        [0.01, 3.0, 100.0],
        extras=extras,
        generator=torch.Generator().manual_seed(0),
    )
    assert chosen.lambda1 == 3.0
    with pytest.raises(ValueError, match="criterion must be 'cv'"):
        cross_validate(
            counts,
            chain(60),
            [1.0],
            extras=extras,
            criterion="sure",
            generator=torch.Generator().manual_seed(0),
        )


def test_a_component_without_values_stays_missing_for_every_loss():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], 5, normalization="none")
    for loss, norm in itertools.product(ALL, ("l1", "l21")):
        x, seen = observations(loss, (5,)), torch.tensor([1.0, 1, 1, 0, 0])
        x[2] = 1 - x[0] if loss.name == "logistic" else x[2]
        found = minimise(
            x, graph, ElasticPenalty(0.1, 0.0, norm), data_weight=seen, loss=loss, sparsity=0.01
        )
        assert found.certified
        assert found.value.isnan().tolist() == [False] * 3 + [True] * 2


def test_weights_of_any_size_do_not_stop_a_loss():
    graph = random_graph(3, 15, "none")
    powers = np.random.default_rng(0).uniform(-4, 4, graph.num_edges)
    graph = graph.with_weight(torch.from_numpy(10**powers))
    for loss in ALL:
        x = observations(loss, (15,))
        assert minimise(x, graph, ElasticPenalty(0.3, 0.0), loss=loss, sparsity=0.1).certified
