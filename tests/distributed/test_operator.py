"""The distributed operator: the single process's function, and one set of bits for all."""

from functools import partial
from itertools import product

import pytest
import torch

from at_work import threads_at_work
from distributed_work import (
    DIVISIONS,
    DTYPES,
    NORMS,
    STEPS,
    WIDTHS,
    every_case,
    propagate,
    rows_of,
    small_graph,
)
from elasticgnn import ElasticPenalty
from elasticgnn import elastic_message_passing as single
from elasticgnn.distributed import DistributedGraph, elastic_message_passing, partition
from elasticgnn.operator import RouteReport, explain_route
from elasticgnn.operator.request import Options, make_request
from elasticgnn.operator.routes import ROUTES
from marks import needs_kernels
from own_penalties import Huber
from processes import run_together

CASES = list(product(NORMS, DTYPES, DIVISIONS))


def together(parts, rows, index, count):
    """The rows of all processes by global id; those that two hold must have the same bits."""
    out = torch.full((count, *parts[0][rows].shape[1:]), float("nan"), dtype=parts[0][rows].dtype)
    for part in parts:
        known = ~out[part[index]].isnan()
        assert torch.equal(out[part[index]][known], part[rows][known])
        out[part[index]] = part[rows]
    assert not out.isnan().any()
    return out


def global_rows(parts, graph):
    """All results of one case, by global ids."""
    nodes = {name: together(parts, name, "nodes", graph.num_nodes) for name in NODE_ROWS}
    assert all(torch.equal(parts[0]["lambdas"], part["lambdas"]) for part in parts)
    weights = together(parts, "dw", "edges", graph.num_edges)
    return {**nodes, "dw": weights, "lambdas": parts[0]["lambdas"]}


NODE_ROWS = ("signal", "dx", "dx_alone")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return every_case(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module", params=[2, 3, 4])
def several(request, tmp_path_factory):
    """Three processes send all rows through sockets, as they do between machines."""
    shared = {"ELASTICGNN_SHARED_MEMORY": "0" if request.param == 3 else "1"}
    return run_together("every_case", request.param, tmp_path_factory.mktemp("several"), **shared)


def test_bits_do_not_depend_on_the_number_of_processes_and_threads(alone, several):
    for case in CASES:
        graph = small_graph(case[0] == "l21")
        expected = global_rows([alone[case]], graph)
        found = global_rows([part[case] for part in several], graph)
        for name, rows in expected.items():
            assert torch.equal(rows, found[name]), (case, name)


@needs_kernels
@pytest.mark.parametrize("norm", NORMS)
def test_bits_do_not_depend_on_the_threads_of_one_process(norm):
    graph, before = small_graph(weighted=True), torch.get_num_threads()
    call, found = partial(propagate, graph, "blocks", norm, "float32"), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(call())
            assert threads_at_work(call) >= threads
    finally:
        torch.set_num_threads(before)
    for name, rows in found[0].items():
        assert torch.equal(rows, found[1][name]), name
        assert torch.equal(rows, found[2][name]), name


def test_bits_do_not_depend_on_the_partition(alone):
    for norm, dtype in product(NORMS, DTYPES):
        graph = small_graph(norm == "l21")
        first, *others = (global_rows([alone[norm, dtype, how]], graph) for how in DIVISIONS)
        for other in others:
            for name in (*NODE_ROWS, "dw"):
                assert torch.equal(first[name], other[name]), (norm, dtype, name)


@pytest.mark.parametrize(("norm", "dtype"), list(product(NORMS, DTYPES)))
def test_equals_the_single_process_to_rounding(alone, norm, dtype):
    graph, width, number = small_graph(norm == "l21"), WIDTHS[dtype], getattr(torch, dtype)
    x = rows_of(graph.num_nodes, width, 0).to(number).requires_grad_()
    seed = rows_of(graph.num_nodes, width, 1).to(number)
    weight = graph.weight.clone().requires_grad_()
    lambdas = torch.tensor([0.3, 2.0], dtype=number).requires_grad_()
    penalty = ElasticPenalty(lambdas[0], lambdas[1], norm)
    signal = single(x, graph, penalty, STEPS, edge_weight=weight, implementation="reference")
    expected = (signal, *torch.autograd.grad(signal, (x, weight, lambdas), seed))
    found = global_rows([alone[norm, dtype, "metis"]], graph)
    # float32 sums of a few dozen terms of size 10 keep about five digits
    bound = {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 1e-3, "atol": 3e-4}
    for name, rows in zip(("signal", "dx", "dw", "lambdas"), expected, strict=True):
        torch.testing.assert_close(found[name], rows, **bound, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.0, 9.0), (0.0, float("inf")), (0.4, 0.0)])
@pytest.mark.parametrize("steps", [0, 1, 5])
def test_linear_and_other_limits_equal_the_single_process(lambda1, lambda2, steps):
    graph, penalty = small_graph(weighted=True), ElasticPenalty(lambda1, lambda2)
    held = DistributedGraph.from_graph(graph, partition(graph, 3, method="clusters"))
    x = rows_of(graph.num_nodes, 3, 0)
    one, two = x.clone().requires_grad_(), x[held.nodes].requires_grad_()
    expected = single(one, graph, penalty, steps, implementation="reference")
    found = elastic_message_passing(two, held, penalty, steps)
    torch.testing.assert_close(found, expected[held.nodes])
    seed = rows_of(graph.num_nodes, 3, 1)
    (expected_dx,) = torch.autograd.grad(expected, one, seed)
    (found_dx,) = torch.autograd.grad(found, two, seed[held.nodes])
    torch.testing.assert_close(found_dx, expected_dx[held.nodes])


@pytest.mark.parametrize("norm", ["l21", "l1"])
@pytest.mark.parametrize("size", [0.0, 1.0])
def test_without_strength_its_gradient_equals_the_single_process(norm, size):
    graph = small_graph(weighted=True)
    held = DistributedGraph.from_graph(graph, partition(graph, 3, method="clusters"))
    x, seed = size * rows_of(graph.num_nodes, 3, 0), rows_of(graph.num_nodes, 3, 1)

    def gradients(run, nodes, where):
        lambda1 = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
        rows = x[nodes].requires_grad_()
        out = run(rows, where, ElasticPenalty(lambda1, 2.0, norm), 5)
        by_x, by_lambda1 = torch.autograd.grad(out, (rows, lambda1), seed[nodes])
        return by_x, by_lambda1

    everyone = torch.arange(graph.num_nodes)
    exact_x, exact_lambda1 = gradients(single, everyone, graph)
    found_x, found_lambda1 = gradients(elastic_message_passing, held.nodes, held)
    torch.testing.assert_close(found_x, exact_x[held.nodes])
    torch.testing.assert_close(found_lambda1, exact_lambda1)


def test_unnormalised_graphs_equal_the_single_process():
    graph, penalty = small_graph().with_normalization("none"), ElasticPenalty(0.3, 0.5)
    held = DistributedGraph.from_graph(graph, partition(graph, 3, method="blocks"))
    x = rows_of(graph.num_nodes, 2, 0)
    expected = single(x, graph, penalty, 6, implementation="reference")
    torch.testing.assert_close(
        elastic_message_passing(x[held.nodes], held, penalty, 6), expected[held.nodes]
    )


@pytest.mark.parametrize("width", [1, 4, 8, 16, 40, 64, 72])
def test_every_width_equals_the_single_process(width):
    graph, penalty = small_graph(), ElasticPenalty(0.3, 2.0)
    held = DistributedGraph.from_graph(graph, partition(graph, 2, method="blocks"))
    x = rows_of(graph.num_nodes, width, 0)
    expected = single(x, graph, penalty, 4, implementation="reference")
    torch.testing.assert_close(
        elastic_message_passing(x[held.nodes], held, penalty, 4), expected[held.nodes]
    )


@needs_kernels
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_may_lie_apart_in_memory(dtype):
    graph = small_graph()
    held = DistributedGraph.from_graph(graph, partition(graph, 2))
    x = rows_of(held.num_owned, 3, 0).to(dtype)
    run = partial(elastic_message_passing, x, held, ElasticPenalty(), STEPS)
    table = torch.rand(held.local.num_edges, 3, generator=torch.Generator().manual_seed(0))
    column, repeated = table.to(dtype)[:, 1], torch.tensor(0.5, dtype=dtype).expand(len(table))
    for weight in (column, repeated):
        assert torch.equal(run(edge_weight=weight), run(edge_weight=weight.clone()))


def test_rows_of_another_graph_are_refused():
    held = DistributedGraph.from_graph(small_graph(), partition(small_graph(), 2, method="blocks"))
    with pytest.raises(ValueError, match=r"x must be \(46, d\)"):
        elastic_message_passing(torch.zeros(45, 2), held, ElasticPenalty(), 1)
    with pytest.raises(ValueError, match="weight must be finite and >= 0"):
        held.with_weight(torch.full((held.local.num_edges,), -1.0))


@needs_kernels
def test_a_graph_in_parts_takes_its_own_route_and_no_other_serves_it():
    held = DistributedGraph.from_graph(small_graph(), partition(small_graph(), 2, method="blocks"))
    x = rows_of(held.num_owned, 3, 0)
    assert explain_route(x, held, ElasticPenalty()) == RouteReport("distributed", ())
    request = make_request(x, held, ElasticPenalty(), 5, Options())
    others = {route.refusal(request) for route in ROUTES if route.name != "distributed"}
    assert others == {"several processes hold the graph"}


@needs_kernels
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"implementation": "reference"}, "asks for the plain version"),
        ({"penalty": ElasticPenalty(1.0, 1.0, Huber())}, "has no compiled loops"),
        ({"edge_strength": torch.ones(1)}, "a strength per edge has no compiled loops"),
        ({"x": torch.zeros(46, 2, 3)}, "it serves one run"),
        ({"x": torch.zeros(46, 0)}, "with at least one column"),
    ],
)
def test_what_a_graph_in_parts_cannot_serve_is_refused_with_the_reason(change, reason):
    held = DistributedGraph.from_graph(small_graph(), partition(small_graph(), 2, method="blocks"))
    call = {"x": torch.zeros(46, 2), "penalty": ElasticPenalty(), **change}
    with pytest.raises(ValueError, match=f"graph must be in one process for this call.*{reason}"):
        elastic_message_passing(graph=held, **call)


def test_second_derivatives_are_refused_and_never_lost():
    graph = DistributedGraph.from_graph(small_graph(), torch.zeros(46, dtype=torch.int32))
    x = rows_of(46, 3, 0).requires_grad_()
    factor = torch.ones((), dtype=x.dtype, requires_grad=True)
    out = elastic_message_passing(factor * x, graph, ElasticPenalty(0.5, 1.0), 3)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.grad(out.pow(2).sum(), x, create_graph=True)


def test_weights_that_differ_between_the_sides_of_a_cut_are_refused_by_both(tmp_path):
    messages = run_together("unequal_weights", 2, tmp_path / "group")
    assert "weight must be equal on both sides of a cut, got 1.0 for edge (" in messages[0]
    assert "here and 2.0 in process 1" in messages[0]
    assert "here and 1.0 in process 0" in messages[1]


@pytest.mark.parametrize("shared", ["1", "0"])
def test_rows_of_any_width_arrive_one_after_another(tmp_path, shared):
    results = run_together("many_exchanges", 2, tmp_path / "group", ELASTICGNN_SHARED_MEMORY=shared)
    for shares, wrong in results:
        assert shares == (shared == "1")
        assert wrong == []


@pytest.mark.parametrize("shared", ["1", "0"])
def test_an_exchange_may_begin_before_the_last_one_is_read(tmp_path, shared):
    results = run_together(
        "two_exchanges_under_way", 2, tmp_path / "group", ELASTICGNN_SHARED_MEMORY=shared
    )
    assert results == [(shared == "1", 0)] * 2
