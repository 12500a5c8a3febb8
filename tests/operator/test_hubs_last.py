"""Graphs with hubs in the wide loops, whose tables have them last: the same results."""

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.graph.degree_order import order_hubs
from elasticgnn.kernels import native
from elasticgnn.operator import explain_route, wide
from marks import needs_kernels
from strategies import hub_graph, normal_rows

pytestmark = needs_kernels
PENALTY = ElasticPenalty(0.5, 1.5)


@pytest.fixture(autouse=True)
def a_small_cache(monkeypatch):
    """Rows of any graph are more than it holds."""
    monkeypatch.setattr(native.tuning, "cache_bytes", 1024)


def value_and_gradient(x, graph, implementation="fused"):
    rows = x.clone().requires_grad_()
    out = elastic_message_passing(rows, graph, PENALTY, 10, implementation=implementation)
    (grad,) = torch.autograd.grad(out, rows, normal_rows(*x.shape, seed=7).to(x.dtype))
    return out.detach(), grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [17, 64])
def test_value_and_gradient_equal_the_reference(width, weighted, dtype):
    graph, x = hub_graph(weighted=weighted), 2 * normal_rows(600, width)
    assert order_hubs(graph) is not None
    assert explain_route(x.to(dtype), graph, PENALTY).taken == "wide"
    fused, exact = value_and_gradient(x.to(dtype), graph), value_and_gradient(x, graph, "reference")
    tolerance = 2e-5 if dtype == torch.float32 else 1e-11
    for left, right in zip(fused, exact, strict=True):
        assert float((left - right).abs().max()) <= tolerance * float(right.abs().max())


def test_a_single_run_of_several_has_the_same_bits():
    graph, x = hub_graph(), normal_rows(600, 40)
    alone = elastic_message_passing(x, graph, PENALTY, 10)
    assert torch.equal(elastic_message_passing(x[:, None], graph, PENALTY, 10)[:, 0], alone)


@pytest.mark.usefixtures("several_threads")
def test_the_bits_are_those_of_any_number_of_threads():
    graph, x = hub_graph(4000, 40_000), normal_rows(4000, 40).float()
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(value_and_gradient(x, graph))
    for value, gradient in results[1:]:
        assert torch.equal(value, results[0][0])
        assert torch.equal(gradient, results[0][1])


def test_rows_that_fit_a_cache_are_not_moved(monkeypatch):
    def refuse(graph):
        raise AssertionError("the order must not be asked for")

    monkeypatch.setattr(wide, "order_hubs", refuse)
    graph, x = hub_graph(), normal_rows(600, 40)
    with pytest.raises(AssertionError, match="must not be asked"):
        elastic_message_passing(x, graph, PENALTY, 2)
    monkeypatch.setattr(native.tuning, "cache_bytes", 1 << 20)
    assert elastic_message_passing(x, graph, PENALTY, 2).isfinite().all()
