"""The adjoint of the fused operator: gradcheck, and equal to autograd through the reference."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.problem import PENALTIES
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels


def concavity(norm):
    return 8.0 if norm not in CONVEX_NORMS else None


def all_gradients(implementation, graph, x, norm, steps, memory):
    """Gradients of x, edge weights, lambda1 and lambda2 for one cotangent."""
    runs = x.shape[1]
    generator = torch.Generator().manual_seed(1)
    lambda1 = 0.1 + torch.rand(runs, generator=generator).to(x)
    lambda2 = 0.5 + 2 * torch.rand(runs, generator=generator).to(x)
    inputs = [x.clone(), graph.weight.to(x).clone(), lambda1, lambda2]
    inputs = [entry.requires_grad_() for entry in inputs]
    wanted = ElasticPenalty(inputs[2], inputs[3], norm, concavity(norm))
    out = elastic_message_passing(
        inputs[0],
        graph,
        wanted,
        steps,
        edge_weight=inputs[1],
        implementation=implementation,
        memory=memory,
    )
    return torch.autograd.grad(out, inputs, normal_rows(*x.shape, seed=7).to(x))


def x_gradient(implementation, graph, x, norm, steps, memory, lambda1=0.6):
    x = x.clone().requires_grad_()
    out = elastic_message_passing(
        x,
        graph,
        ElasticPenalty(lambda1, 1.5, norm, concavity(norm)),
        steps,
        implementation=implementation,
        memory=memory,
    )
    return torch.autograd.grad(out, x, normal_rows(*x.shape, seed=7).to(x))[0]


def assert_near(left, right, tolerance):
    scale = left.abs().max().clamp(min=1e-6) if left.numel() else 1.0
    assert bool(((left - right).abs() <= tolerance * scale).all())


@pytest.mark.parametrize("memory", ["fast", "lean"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (1, 7), (1, 20), (3, 2), (18, 3)])
@pytest.mark.parametrize("norm", [*PENALTIES])
def test_every_gradient_is_that_of_the_reference(norm, shape, memory):
    graph = random_graph(30, 80, weighted=True)
    x = normal_rows(30, *shape)
    for steps in (1, 5, 10):
        plain = all_gradients("reference", graph, x, norm, steps, memory)
        fused = all_gradients("fused", graph, x, norm, steps, memory)
        for left, right in zip(plain, fused, strict=True):
            assert_near(left, right, 1e-9)


@pytest.mark.parametrize("lambda1", [0.0, 0.6])
@pytest.mark.parametrize("memory", ["fast", "lean"])
@pytest.mark.parametrize("norm", [*PENALTIES])
def test_gradient_of_x_alone_is_that_of_the_reference(norm, memory, lambda1):
    graph = random_graph(50, 150)
    for shape in [(1, 3), (1, 7), (1, 40), (4, 3)]:
        for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 1e-4)):
            x = normal_rows(50, *shape, dtype=dtype)
            plain = x_gradient("reference", graph, x, norm, 10, memory, lambda1)
            fused = x_gradient("fused", graph, x, norm, 10, memory, lambda1)
            assert_near(plain, fused, tolerance)


@given(graph=graphs(max_nodes=6, normalizations=("degree",)), steps=st.integers(0, 5))
def test_gradients_agree_on_invented_graphs(graph, steps):
    x = normal_rows(graph.num_nodes, 1, 2)
    plain = x_gradient("reference", graph, x, "l21", steps, "lean")
    assert_near(plain, x_gradient("fused", graph, x, "l21", steps, "lean"), 1e-9)


@pytest.mark.parametrize("normalization", ["degree", "none"])
@pytest.mark.parametrize("norm", [*PENALTIES])
def test_gradcheck(norm, normalization):
    graph = random_graph(6, 9, weighted=True, normalization=normalization)
    # without normalisation the default step sizes jump with the largest degree
    step = {"gamma": 0.1, "beta": 0.8} if normalization == "none" else {}

    def run(x, weight, lambda1, lambda2):
        wanted = ElasticPenalty(lambda1, lambda2, norm, 60.0 if concavity(norm) else None)
        return elastic_message_passing(
            x, graph, wanted, 4, edge_weight=weight, implementation="fused", **step
        )

    numbers = [torch.tensor(value, dtype=torch.float64) for value in (0.31, 0.7)]
    inputs = [normal_rows(6, 2), graph.weight.clone(), *numbers]
    assert torch.autograd.gradcheck(run, [entry.requires_grad_() for entry in inputs])


def test_learnable_lambda1_has_its_gradient_at_zero():
    graph = random_graph(20, 40)
    x = normal_rows(20, 3)
    grads = []
    for implementation in ("reference", "fused"):
        lambda1 = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        out = elastic_message_passing(
            x, graph, ElasticPenalty(lambda1, 1.0), 4, implementation=implementation
        )
        grads.append(torch.autograd.grad(out.square().sum(), lambda1)[0])
    assert_near(grads[0], grads[1], 1e-9)
    assert grads[0].abs() > 0
