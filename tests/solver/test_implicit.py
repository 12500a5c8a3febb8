"""The gradient of the minimiser against unrolled steps and finite differences."""

import pytest
import torch

from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
from solver_signals import chain, random_graph


def problem(seed, normalization):
    """x, weight, lambda1, lambda2 as leaves, and a direction to weigh the result with."""
    generator = torch.Generator().manual_seed(seed)
    graph = random_graph(seed, 8, normalization)
    x, direction = torch.randn(2, 8, 2, generator=generator, dtype=torch.float64)
    strengths = torch.tensor([0.15, 0.3], dtype=torch.float64)
    leaves = [t.clone().requires_grad_() for t in (x, graph.weight, *strengths)]
    return graph, leaves, direction


@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("normalization", ["degree", "none"])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_equals_the_unrolled_one(norm, normalization, seed):
    graph, (x, weight, lambda1, lambda2), direction = problem(seed, normalization)
    penalty = ElasticPenalty(lambda1, lambda2, norm)
    leaves = (x, weight, lambda1, lambda2)
    solution = minimise(x, graph.with_weight(weight), penalty, rtol=1e-15)
    found = torch.autograd.grad((solution.value * direction).sum(), leaves)
    unrolled = elastic_message_passing(x, graph.with_weight(weight), penalty, 3000)
    expected = torch.autograd.grad((unrolled * direction).sum(), leaves)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_trend_filtering_equals_finite_differences(order):
    graph, (x, weight, lambda1, lambda2), direction = problem(3, "degree")

    def loss(x, weight, lambda1, lambda2):
        penalty = ElasticPenalty(lambda1, lambda2, "l1")
        at = graph.with_weight(weight)
        return (minimise(x, at, penalty, order=order, rtol=1e-14).value * direction).sum()

    leaves = (x, weight, lambda1, lambda2)
    found = torch.autograd.grad(loss(*leaves), leaves)
    small = 1e-5
    for k, leaf in enumerate(leaves):
        probe = torch.ones_like(leaf)
        with torch.no_grad():
            moved = [loss(*leaves[:k], leaf + s * probe, *leaves[k + 1 :]) for s in (small, -small)]
        slope = (moved[0] - moved[1]) / (2 * small)
        torch.testing.assert_close(found[k].sum(), slope, atol=2e-4, rtol=2e-4)


def test_gradient_reaches_observed_nodes_only():
    graph = random_graph(2, 8, "none")
    x = torch.randn(8, generator=torch.Generator().manual_seed(0)).double().requires_grad_()
    seen = torch.ones(8)
    seen[3] = 0.0
    minimise(x, graph, ElasticPenalty(0.1, 0.2), data_weight=seen).value.sum().backward()
    assert float(x.grad[3]) == 0.0
    # a constant added to all data is added to the whole answer
    assert float(x.grad.sum()) == pytest.approx(8.0, abs=1e-6)


def test_no_gradient_is_attached_when_none_is_asked_for():
    graph = random_graph(2, 8)
    assert not minimise(torch.zeros(8), graph, ElasticPenalty(0.1, 0.2)).value.requires_grad


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_second_derivatives_equal_the_unrolled_ones(norm):
    graph, leaves, direction = problem(1, "degree")
    x, weight, lambda1, lambda2 = leaves
    at, penalty = graph.with_weight(weight), ElasticPenalty(lambda1, lambda2, norm)
    solved = minimise(x, at, penalty, rtol=1e-15).value
    unrolled = elastic_message_passing(x, at, penalty, 600)
    results = []
    for value in (solved, unrolled):
        loss = (value * direction).sum() + value.pow(3).sum()
        first = torch.autograd.grad(loss, leaves, create_graph=True)
        mixed = sum(part.square().sum() for part in first) + (first[0] * value).sum()
        results.append(torch.autograd.grad(mixed, leaves))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_gradgradcheck_of_the_minimiser():
    graph, (x, weight, lambda1, lambda2), _ = problem(0, "none")

    def solve(x, weight, lambda1, lambda2):
        penalty = ElasticPenalty(lambda1, lambda2)
        return minimise(x, graph.with_weight(weight), penalty, rtol=1e-15).value

    leaves = (x, weight, lambda1, lambda2)
    assert torch.autograd.gradgradcheck(solve, leaves, atol=1e-4, rtol=1e-3, fast_mode=True)


def test_a_missing_value_that_no_row_holds_does_not_stop_the_gradient():
    """Beside a knot it may take any value: the system is singular there, not elsewhere."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, generator=generator, dtype=torch.float64)
    seen = (torch.rand(40, generator=generator) > 0.3).double()
    penalty, line, h = ElasticPenalty(0.05, 0.0), chain(40), 1e-6

    def total(values):
        found = minimise(values, line, penalty, data_weight=seen, order=1, rtol=1e-12)
        return (found.value * seen * torch.arange(40)).sum()

    given = x.clone().requires_grad_()
    total(given).backward()
    assert given.grad is not None
    for node in seen.nonzero().flatten().tolist()[::5]:
        shift = torch.zeros_like(x).index_fill(0, torch.tensor([node]), h)
        slope = (total(x + shift) - total(x - shift)) / (2 * h)
        assert float(given.grad[node]) == pytest.approx(float(slope), abs=1e-3)
