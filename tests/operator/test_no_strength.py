"""lambda1 = 0 pins the dual to zero: rows that are equal at both ends must not loosen it."""

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.nn import EMP
from elasticgnn.problem import PENALTIES
from marks import needs_kernels
from strategies import normal_rows, random_graph

GRAPH = random_graph(9, 14, weighted=True)
STEPS = 5
CONCAVITY = {"mcp": 60.0, "scad": 60.0}


def quadratic_gradient(cotangent):
    """The gradient of x without any dual: the steps are F <- gamma X + (1 - gamma) A F."""
    x = torch.zeros_like(cotangent, requires_grad=True)
    signal = x
    for _ in range(STEPS):
        signal = 0.25 * x + 0.75 * GRAPH.smooth(signal)
    return torch.autograd.grad(signal, x, cotangent)[0]


def gradient_at_zero(cotangent, penalty, **options):
    x = torch.zeros_like(cotangent, requires_grad=True)
    out = elastic_message_passing(x, GRAPH, penalty, STEPS, **options)
    return torch.autograd.grad(out, x, cotangent)[0]


@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize("weights_learned", [False, True])
@pytest.mark.parametrize(
    "implementation", ["reference", pytest.param("fused", marks=needs_kernels)]
)
def test_equal_rows_have_the_gradient_of_quadratic_smoothing(norm, weights_learned, implementation):
    penalty = ElasticPenalty(0.0, 3.0, norm, CONCAVITY.get(norm))
    weight = GRAPH.weight.clone().requires_grad_(weights_learned)
    cotangent = normal_rows(9, 3)
    found = gradient_at_zero(cotangent, penalty, edge_weight=weight, implementation=implementation)
    torch.testing.assert_close(found, quadratic_gradient(cotangent))


@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize(
    "implementation", ["reference", pytest.param("fused", marks=needs_kernels)]
)
def test_one_of_several_runs_without_strength(norm, implementation):
    strengths = torch.tensor([0.0, 0.4]).double()
    penalty = ElasticPenalty(strengths, 3.0, norm, CONCAVITY.get(norm))
    cotangent = normal_rows(9, 6).view(9, 2, 3)
    found = gradient_at_zero(cotangent, penalty, implementation=implementation)
    torch.testing.assert_close(found[:, 0], quadratic_gradient(cotangent[:, 0]))


@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize(
    "implementation", ["reference", pytest.param("fused", marks=needs_kernels)]
)
def test_the_slope_by_the_strength_is_that_of_growing_it(norm, implementation):
    def value(lambda1):
        penalty = ElasticPenalty(lambda1, 3.0, norm, CONCAVITY.get(norm))
        rows = normal_rows(9, 3)
        out = elastic_message_passing(rows, GRAPH, penalty, STEPS, implementation=implementation)
        return (out * normal_rows(9, 3, seed=5)).sum()

    lambda1 = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(value(lambda1), lambda1)
    rise = (value(1e-7) - value(0.0)) / 1e-7
    torch.testing.assert_close(slope, rise, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_a_scripted_layer_has_the_gradient_of_quadratic_smoothing(norm):
    cotangent = normal_rows(9, 3)
    index, weight = GRAPH.to_edge_index()
    x = torch.zeros_like(cotangent, requires_grad=True)
    out = torch.jit.script(EMP(STEPS, 0.0, 3.0, norm))(x, index, weight)
    (found,) = torch.autograd.grad(out, x, cotangent)
    torch.testing.assert_close(found, quadratic_gradient(cotangent))
