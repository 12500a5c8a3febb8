"""The gradient that keeps the rows outside the ball: equal to the reference for wide rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.graph import grid_graph
from elasticgnn.operator import outside
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels


def value_and_gradient(x, graph, penalty, steps, implementation="fused", memory="fast"):
    rows = x.clone().requires_grad_()
    options = {"implementation": implementation, "memory": memory}
    out = elastic_message_passing(rows, graph, penalty, steps, **options)
    (grad,) = torch.autograd.grad(out, rows, normal_rows(*x.shape, seed=7).to(x.dtype))
    return out.detach(), grad


def assert_equals_reference(x, graph, penalty, steps, tolerance):
    fused = value_and_gradient(x, graph, penalty, steps)
    exact = value_and_gradient(x.double(), graph, penalty, steps, "reference")
    for left, right in zip(fused, exact, strict=True):
        bound = tolerance * float(right.abs().max().clamp(min=1e-3))
        assert float((left.double() - right).abs().max()) <= bound


@pytest.mark.parametrize("width", [17, 31, 40, 64, 75])
@pytest.mark.parametrize("lambda1", [0.01, 1.0, 30.0])  # nearly all rows leave the ball, some, none
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_value_and_gradient_equal_the_reference(width, lambda1, dtype):
    graph = random_graph(60, 200, weighted=width % 2 == 0)
    x = (2 * normal_rows(60, width)).to(dtype)
    tolerance = 2e-5 if dtype == torch.float32 else 1e-11
    assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.5), 10, tolerance)


def test_the_route_is_taken(monkeypatch):
    calls = []
    real = outside.propagate_outside
    monkeypatch.setattr(outside, "propagate_outside", lambda *a: calls.append(1) or real(*a))
    value_and_gradient(normal_rows(20, 3), random_graph(20, 40), ElasticPenalty(1.0, 1.0), 3)
    assert calls == [1]


@given(graphs(), st.integers(1, 20), st.sampled_from([0.05, 0.5, 5.0]), st.integers(1, 6))
def test_any_graph(graph, width, lambda1, steps):
    x = normal_rows(graph.num_nodes, width)
    if x.numel():
        assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.0), steps, 1e-10)


@pytest.mark.parametrize(("lambda1", "kept"), [(4.0, [True]), (0.01, [False])])
def test_lean_mode_keeps_rows_while_they_weigh_less_than_checkpoints(lambda1, kept, monkeypatch):
    graph, penalty = random_graph(60, 300), ElasticPenalty(lambda1, 1.5)
    x = normal_rows(60, 18)
    routes, real = [], outside.propagate_outside

    def watched(*arguments):
        routes.append(False)
        out = real(*arguments)
        routes[-1] = True
        return out

    monkeypatch.setattr(outside, "propagate_outside", watched)
    lean = value_and_gradient(x, graph, penalty, 10, memory="lean")
    assert routes == kept
    exact = value_and_gradient(x, graph, penalty, 10, "reference")
    for left, right in zip(lean, exact, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)


def test_a_hub_that_ends_a_block_has_room_for_its_edges():
    hub = [(0, leaf) for leaf in range(1, 4000)]
    graph = Graph.from_edges([*hub, (1, 2), (2, 3)], num_nodes=4000)
    assert_equals_reference(3 * normal_rows(4000, 18), graph, ElasticPenalty(0.1, 1.0), 3, 1e-10)


@pytest.mark.parametrize(
    "graph", [random_graph(1500, 6000), grid_graph(50, 60)], ids=["random", "local"]
)
def test_bits_do_not_depend_on_the_number_of_threads(restore_threads, graph):
    x = 2 * normal_rows(graph.num_nodes, 40).float()
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(value_and_gradient(x, graph, ElasticPenalty(3.0, 3.0), 6))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_memory_that_runs_out_is_an_error_not_a_crash(scarce_memory):
    x = (5 * normal_rows(100, 20)).requires_grad_()
    with pytest.raises(MemoryError, match="no memory for the rows"):
        elastic_message_passing(x, random_graph(100, 400), ElasticPenalty(0.1, 1.0), 5)


def test_a_second_derivative_is_refused_not_wrong():
    graph = random_graph(10, 20)
    x = normal_rows(10, 18).requires_grad_()
    out = elastic_message_passing(x, graph, ElasticPenalty(0.3, 1.0), 4)
    (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.square().sum().backward()
