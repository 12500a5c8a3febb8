"""The plain route's steps: the definition's numbers, few operations, little memory."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import plain_steps, request
from elasticgnn.operator.emp import explain_route
from elasticgnn.operator.request import Options, make_request
from strategies import graphs, normal_rows, random_graph


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch):
    """As on a device: no compiled loop serves the call."""
    monkeypatch.setattr(request, "native", None)
    monkeypatch.setattr(request, "warn_once_if_missing", lambda: None)


def value_and_gradient(x, graph, penalty, steps, implementation):
    rows = x.clone().requires_grad_()
    out = elastic_message_passing(rows, graph, penalty, steps, implementation=implementation)
    (grad,) = torch.autograd.grad(out, rows, torch.cos(3 * x))
    return out.detach(), grad


def assert_equals_the_definition(x, graph, penalty, steps):
    assert plain_steps.refusal(make_request(x, graph, penalty, steps, Options())) is None
    exact = value_and_gradient(x, graph, penalty, steps, "reference")
    for found, right in zip(
        value_and_gradient(x, graph, penalty, steps, "auto"), exact, strict=True
    ):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-10)
    with torch.no_grad():
        alone = elastic_message_passing(x, graph, penalty, steps)
    torch.testing.assert_close(alone, exact[0], rtol=1e-9, atol=1e-10)


@given(graphs(), st.sampled_from(["l21", "l1"]), st.sampled_from([0.0, 0.05, 0.7, 30.0]))
def test_any_graph(graph, norm, lambda1):
    x = 2 * normal_rows(graph.num_nodes, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request, "native", None)
        assert_equals_the_definition(x, graph, ElasticPenalty(lambda1, 1.5, norm), 4)


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_runs_with_strengths_of_their_own(norm):
    penalty = ElasticPenalty(torch.tensor([0.0, 0.5, 2.0]).double(), 1.5, norm)
    assert_equals_the_definition(
        2 * torch.randn(20, 3, 4).double(), random_graph(20, 50), penalty, 5
    )


@pytest.mark.parametrize("weight", [0.0, 1e6])
def test_extreme_weights_stars_and_isolated_nodes(weight):
    star = [(0, leaf, 1.0) for leaf in range(1, 9)]
    graph = Graph.from_edges([*star, (1, 2, weight)], num_nodes=12)
    assert_equals_the_definition(normal_rows(12, 3), graph, ElasticPenalty(0.3, 1.0), 6)


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_second_derivatives(norm):
    graph, penalty = random_graph(6, 8, weighted=True), ElasticPenalty(0.4, 1.0, norm)
    x = normal_rows(6, 2).requires_grad_()
    assert torch.autograd.gradgradcheck(
        lambda rows: elastic_message_passing(rows, graph, penalty, 3), (x,)
    )


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations += 1
        return function(*args, **(kwargs or {}))


def operations(steps, norm, weighted):
    """Operations of the forward and of the backward pass."""
    graph = random_graph(30, 90, weighted=weighted)
    x = normal_rows(30, 4).requires_grad_()
    with Count() as forward:
        out = elastic_message_passing(x, graph, ElasticPenalty(0.4, 1.0, norm), steps)
    with Count() as backward:
        out.backward(torch.ones_like(out))
    return forward.operations, backward.operations


@pytest.mark.parametrize("norm", ["l21", "l1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_takes_at_most_20_operations_and_25_back(norm, weighted):
    few, more = operations(3, norm, weighted), operations(7, norm, weighted)
    assert (more[0] - few[0]) / 4 <= 20
    assert (more[1] - few[1]) / 4 <= 25


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_what_is_kept_of_a_step_is_less_than_three_duals(norm):
    graph, steps, width = random_graph(200, 900), 6, 5
    x = normal_rows(200, width).requires_grad_()
    out = elastic_message_passing(x, graph, ElasticPenalty(0.4, 1.0, norm), steps)
    kept = [part for one in out.grad_fn.saved for part in one if part is not None]
    assert sum(part.numel() for part in kept) <= 3 * steps * graph.num_edges * width
    assert len({part.untyped_storage().data_ptr() for part in kept}) == len(kept)


def test_what_it_does_not_serve_goes_to_the_definition():
    x, graph = normal_rows(20, 3), random_graph(20, 40)
    assert explain_route(x, graph, ElasticPenalty(0.4, 1.0)).taken == "plain"
    for penalty in (
        ElasticPenalty(0.4, 1.0, "mcp", 40.0),
        ElasticPenalty(torch.tensor(0.4, requires_grad=True), 1.0),
    ):
        assert plain_steps.refusal(make_request(x, graph, penalty, 3, Options())) is not None
