"""The plain route's steps: the definition's numbers, few operations, little memory."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import plain, request
from elasticgnn.operator.emp import explain_route
from elasticgnn.operator.request import Options, make_request
from elasticgnn.problem import PENALTIES
from own_penalties import Huber
from strategies import graphs, normal_rows, random_graph


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch):
    """As on a device: no compiled loop serves the call."""
    monkeypatch.setattr(request, "native", None)
    monkeypatch.setattr(request, "warn_once_if_missing", lambda: None)


CONCAVITY = {"mcp": 30.0, "scad": 30.0}
DIFFERENTIATED = [
    ("x",),
    ("weight",),
    ("lambda1",),
    ("lambda2",),
    ("strength",),
    ("x", "weight"),
    ("x", "lambda1", "lambda2"),
    ("x", "weight", "lambda1", "lambda2", "strength"),
]


def penalty_of(norm, lambda1=0.4, lambda2=1.0):
    return ElasticPenalty(lambda1, lambda2, norm, CONCAVITY.get(norm))


def arguments(graph, differentiated, runs=1, width=4):
    """Tensors for everything that can be differentiated, those named asking for a gradient."""
    generator = torch.Generator().manual_seed(1)
    values = {
        "x": 2 * normal_rows(graph.num_nodes, runs * width).view(-1, runs, width),
        "weight": graph.weight,
        "lambda1": torch.linspace(0.1, 0.4, runs).double(),
        "lambda2": torch.tensor(1.3).double(),
        "strength": 0.5 + torch.rand(graph.num_edges, generator=generator).double(),
    }
    return {name: v.clone().requires_grad_(name in differentiated) for name, v in values.items()}


def smoothed(given, graph, norm, steps, implementation="auto"):
    penalty = penalty_of(norm, given["lambda1"], given["lambda2"])
    return elastic_message_passing(
        given["x"],
        graph,
        penalty,
        steps,
        edge_weight=given["weight"],
        edge_strength=given["strength"],
        implementation=implementation,
    )


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


@given(graphs(), st.sampled_from([*PENALTIES]), st.sampled_from([0.0, 0.05, 0.7, 30.0]))
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


@pytest.mark.parametrize("weight", [0.0, 1e6])
def test_extreme_weights_stars_and_isolated_nodes(weight):
    star = [(0, leaf, 1.0) for leaf in range(1, 9)]
    graph = Graph.from_edges([*star, (1, 2, weight)], num_nodes=12)
    assert_equals_the_definition(normal_rows(12, 3), graph, ElasticPenalty(0.3, 1.0), 6)


@pytest.mark.parametrize("norm", [*PENALTIES])
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


@pytest.mark.parametrize("norm", [*PENALTIES])
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


@pytest.mark.parametrize("norm", [*PENALTIES])
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


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations += 1
        return function(*args, **(kwargs or {}))


def operations(steps, norm, differentiated):
    """Operations of the forward and of the backward pass."""
    graph = random_graph(30, 90, weighted=True)
    given = arguments(graph, differentiated)
    with Count() as forward:
        out = smoothed(given, graph, norm, steps)
    with Count() as backward:
        out.backward(torch.ones_like(out))
    return forward.operations, backward.operations


@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize("differentiated", DIFFERENTIATED)
def test_a_step_takes_at_most_20_operations_and_25_back(norm, differentiated):
    few, more = operations(4, norm, differentiated), operations(12, norm, differentiated)
    assert (more[0] - few[0]) / 8 <= 20
    assert (more[1] - few[1]) / 8 <= 25


@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize("differentiated", DIFFERENTIATED)
def test_what_is_kept_of_a_step_is_at_most_three_duals(norm, differentiated):
    ring = torch.arange(300)
    graph = Graph.from_edge_index(torch.stack([ring, (ring + 1) % 300]), undirected=True)
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    def bytes_kept(steps):
        kept.clear()
        given = arguments(graph, differentiated)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = smoothed(given, graph, norm, steps)
        assert out.requires_grad
        return sum(kept.values())

    dual = graph.num_edges * 4 * 8
    assert dual <= (bytes_kept(9) - bytes_kept(3)) / 6 <= 3 * dual


def test_what_is_kept_is_freed_after_the_backward_pass():
    graph = random_graph(30, 90)
    out = smoothed(arguments(graph, ("x",)), graph, "l21", 3)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()


def test_what_it_does_not_serve_goes_to_the_definition():
    x, graph = normal_rows(20, 3), random_graph(20, 40)
    assert explain_route(x, graph, ElasticPenalty(0.4, 1.0)).taken == "plain"
    own = ElasticPenalty(0.4, 1.0, Huber())
    assert plain.refusal_of_steps(make_request(x, graph, own, 3, Options())) is not None
