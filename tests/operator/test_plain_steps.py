"""The plain route's steps give the definition's numbers; test_plain_costs.py counts them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import plain, request
from elasticgnn.operator.emp import explain_route
from elasticgnn.operator.request import Options, make_request
from own_penalties import Huber
from plain_calls import DIFFERENTIATED, NORMS, arguments, penalty_of, smoothed
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
    assert plain.refusal_of_steps(make_request(x, graph, penalty, steps, Options())) is None
    exact = value_and_gradient(x, graph, penalty, steps, "reference")
    for found, right in zip(
        value_and_gradient(x, graph, penalty, steps, "auto"), exact, strict=True
    ):
        torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-10)
    with torch.no_grad():
        alone = elastic_message_passing(x, graph, penalty, steps)
    torch.testing.assert_close(alone, exact[0], rtol=1e-9, atol=1e-10)


@given(graphs(), st.sampled_from(NORMS), st.sampled_from([0.0, 0.05, 0.7, 30.0]))
def test_any_graph(graph, norm, lambda1):
    x = 2 * normal_rows(graph.num_nodes, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request, "native", None)
        assert_equals_the_definition(x, graph, penalty_of(norm, lambda1, 1.5), 4)


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_runs_with_strengths_of_their_own(norm):
    penalty = ElasticPenalty(torch.tensor([0.0, 0.5, 2.0]).double(), 1.5, norm)
    assert_equals_the_definition(
        2 * torch.randn(20, 3, 4).double(), random_graph(20, 50), penalty, 5
    )


NOTHING_BUT_NODES = Graph.from_edges([], num_nodes=5)
MOSTLY_WITHOUT_EDGES = Graph.from_edges([(0, 5, 1.0), (5, 9, 2.0), (20, 31, 0.3)], num_nodes=40)


@pytest.mark.parametrize("graph", [NOTHING_BUT_NODES, MOSTLY_WITHOUT_EDGES])
@pytest.mark.parametrize("norm", NORMS)
def test_nodes_without_edges_take_no_part(graph, norm):
    found = []
    for implementation in ("auto", "reference"):
        given = arguments(graph, DIFFERENTIATED[-1], runs=2)
        out = smoothed(given, graph, norm, 4, implementation)
        cotangent = torch.cos(3 * given["x"].detach())
        found.append((out, *torch.autograd.grad(out, [*given.values()], cotangent)))
    for ours, exact in zip(*found, strict=True):
        torch.testing.assert_close(ours, exact, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("weight", [0.0, 1e6])
def test_extreme_weights_stars_and_isolated_nodes(weight):
    star = [(0, leaf, 1.0) for leaf in range(1, 9)]
    graph = Graph.from_edges([*star, (1, 2, weight)], num_nodes=12)
    assert_equals_the_definition(normal_rows(12, 3), graph, ElasticPenalty(0.3, 1.0), 6)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_every_gradient_is_that_of_the_definition(norm, runs, steps):
    graph = random_graph(20, 45, weighted=True)
    names = DIFFERENTIATED[-1]
    found = []
    for implementation in ("auto", "reference"):
        given = arguments(graph, names, runs)
        out = smoothed(given, graph, norm, steps, implementation)
        cotangent = torch.cos(3 * given["x"].detach())
        found.append(torch.autograd.grad(out, [given[name] for name in names], cotangent))
    for name, ours, exact in zip(names, *found, strict=True):
        torch.testing.assert_close(ours, exact, rtol=1e-9, atol=1e-10, msg=name)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("differentiated", DIFFERENTIATED)
def test_each_gradient_alone_is_that_of_all_together(norm, differentiated):
    graph = random_graph(20, 45, weighted=True)

    def gradients(names):
        given = arguments(graph, names)
        out = smoothed(given, graph, norm, 5)
        parts = torch.autograd.grad(out.cos().sum(), [given[name] for name in names])
        return dict(zip(names, parts, strict=True))

    together = gradients(DIFFERENTIATED[-1])
    for name, part in gradients(differentiated).items():
        torch.testing.assert_close(part, together[name])


@pytest.mark.parametrize("norm", NORMS)
def test_second_derivatives(norm):
    graph = random_graph(6, 8, weighted=True)
    given = arguments(graph, DIFFERENTIATED[-1], 2, 2)

    def run(*tensors):
        return smoothed(dict(zip(given, tensors, strict=True)), graph, norm, 3)

    assert torch.autograd.gradcheck(run, [*given.values()])
    assert torch.autograd.gradgradcheck(run, [*given.values()], fast_mode=True)


def test_many_cotangents_at_once():
    graph = random_graph(8, 14, weighted=True)
    given = arguments(graph, DIFFERENTIATED[-1])
    out = smoothed(given, graph, "l21", 3)
    cotangents = normal_rows(8, 12).view(3, 8, 1, 4)
    wanted = [*given.values()]
    batched = torch.autograd.grad(out, wanted, cotangents, is_grads_batched=True, retain_graph=True)
    for k, cotangent in enumerate(cotangents):
        alone = torch.autograd.grad(out, wanted, cotangent, retain_graph=True)
        for many, one in zip(batched, alone, strict=True):
            torch.testing.assert_close(many[k], one)


@pytest.mark.parametrize("norm", NORMS)
def test_torch_func_differentiates_the_steps_once_and_twice(norm):
    graph = random_graph(8, 12, weighted=True)
    given = arguments(graph, (), 2, 2)
    names, everything = [*given], tuple(range(5))

    def second(implementation):
        def value(*tensors):
            parts = dict(zip(names, tensors, strict=True))
            return smoothed(parts, graph, norm, 3, implementation).pow(3).sum()

        def of_gradients(*tensors):
            return sum(g.cos().sum() for g in torch.func.grad(value, everything)(*tensors))

        return [torch.func.grad(f, everything)(*given.values()) for f in (value, of_gradients)]

    for ours, exact in zip(second("auto"), second("reference"), strict=True):
        for one, other in zip(ours, exact, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("norm", NORMS)
def test_a_gradient_may_be_pulled_back_in_forward_mode(norm):
    graph = random_graph(8, 12, weighted=True)
    given = arguments(graph, DIFFERENTIATED[-1])
    out, wanted = smoothed(given, graph, norm, 3), [*given.values()]
    cotangent, direction = normal_rows(8, 8).view(2, 8, 1, 4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(cotangent, direction)
        pushed = torch.autograd.grad(out, wanted, dual, retain_graph=True)
        slopes = [forward_ad.unpack_dual(part).tangent for part in pushed]
    exact = torch.autograd.grad(out, wanted, direction)  # linear in the cotangent
    for slope, right in zip(slopes, exact, strict=True):
        torch.testing.assert_close(slope, right)


def test_what_is_kept_is_freed_after_the_backward_pass():
    graph = random_graph(30, 90)
    out = smoothed(arguments(graph, ("x",)), graph, "l21", 3)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()


class Trained(Huber):
    """A penalty with a number of its own that is trained."""

    def __init__(self):
        self.factor = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)

    def prox(self, point, lambda1, step):
        return super().prox(point, self.factor * lambda1, step)


def test_what_it_does_not_serve_goes_to_the_definition():
    x, graph = normal_rows(20, 3), random_graph(20, 40)
    assert explain_route(x, graph, ElasticPenalty(0.4, 1.0)).taken == "plain"
    own = ElasticPenalty(0.4, 1.0, Trained())
    assert "tensors of its own" in plain.refusal_of_steps(make_request(x, graph, own, 3, Options()))
    with torch.no_grad():
        assert plain.refusal_of_steps(make_request(x, graph, own, 3, Options())) is None


@pytest.mark.parametrize("x_needs_gradient", [False, True])
def test_a_tensor_of_the_penaltys_own_gets_its_gradient(x_needs_gradient):
    penalty, graph = Trained(), random_graph(12, 30)
    x = 2 * normal_rows(12, 3).requires_grad_(x_needs_gradient)

    def value(factor):
        penalty.factor = factor
        return elastic_message_passing(x, graph, ElasticPenalty(0.4, 1.0, penalty), 3)

    assert torch.autograd.gradcheck(value, penalty.factor)
