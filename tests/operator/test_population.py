"""Many runs in the lanes: each equals the reference, for any graph, width and threads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.graph.clustering import cluster_slots
from elasticgnn.kernels import native
from elasticgnn.operator import explain_route
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels


def assert_equals_reference(x, graph, penalty, steps):
    assert takes_population(x.float(), graph, penalty.norm, steps)
    fused = elastic_message_passing(x.float(), graph, penalty, steps, implementation="fused")
    exact = elastic_message_passing(x, graph, penalty, steps, implementation="reference")
    scale = float(exact.abs().max().clamp(min=1e-3))
    assert float((fused.double() - exact).abs().max()) <= 2e-5 * scale


@pytest.mark.parametrize("width", range(1, 9))
@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_values_equal_the_reference(width, norm):
    graph = random_graph(60, 200, weighted=width % 2 == 0)
    assert_equals_reference(
        2 * normal_rows(60, 16, width), graph, ElasticPenalty(0.5, 1.5, norm), 10
    )


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_without_a_dual_only_averages_are_left(steps):
    graph = random_graph(60, 200)
    assert_equals_reference(normal_rows(60, 16, 3), graph, ElasticPenalty(0.0, 2.0), steps)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("runs", [10, 16, 27, 32, 45])
def test_any_number_of_runs_each_with_its_own_strengths(runs, threads, restore_threads):
    torch.set_num_threads(threads)
    graph = random_graph(40, 90, weighted=True)
    lambda1, lambda2 = torch.linspace(0, 2, runs).double(), torch.linspace(3, 0, runs).double()
    lambda2[0] = torch.inf
    assert_equals_reference(normal_rows(40, runs, 5), graph, ElasticPenalty(lambda1, lambda2), 7)


@given(graphs(), st.integers(1, 8), st.sampled_from([0.05, 0.5, 5.0]), st.integers(1, 6))
def test_any_graph(graph, width, lambda1, steps):
    x = normal_rows(graph.num_nodes, 16, width)
    penalty = ElasticPenalty(lambda1, 1.0)
    if graph.num_nodes and graph.num_edges:
        assert_equals_reference(x, graph, penalty, steps)
    else:
        assert not takes_population(x.float(), graph, "l21", steps)


def test_few_runs_long_rows_and_other_norms_take_other_routes():
    graph = random_graph(20, 40)
    half = native.population_lanes // 2
    few, wide = normal_rows(20, half, 3).float(), normal_rows(20, 16, 9).float()
    assert not takes_population(few, graph, "l21", 5)
    assert not takes_population(wide, graph, "l21", 5)
    assert not takes_population(normal_rows(20, 16, 3).float(), graph, "mcp", 5)
    assert not takes_population(normal_rows(20, 16, 3), graph, "l21", 5)  # float64


@pytest.mark.parametrize("runs", [16, 48])
def test_same_bits_for_any_number_of_threads(runs, several_threads):
    graph = random_graph(900, 3000)
    x = normal_rows(900, runs, 7).float()
    results = []
    for _ in several_threads:
        results.append(elastic_message_passing(x, graph, ElasticPenalty(1.0, 2.0), 10))
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_a_run_does_not_depend_on_its_company():
    graph = random_graph(50, 120)
    x = normal_rows(50, 32, 4).float()
    penalty = ElasticPenalty(0.7, 2.0)
    alone = elastic_message_passing(x[:, 16:], graph, penalty, 10)
    x[:, 3] = torch.nan
    together = elastic_message_passing(x, graph, penalty, 10)
    assert torch.equal(together[:, 16:], alone)
    assert not torch.isnan(together[:, [2, 4]]).any()
    assert torch.isnan(together[:, 3]).all()


def test_clusters_keep_the_graph():
    graph = random_graph(70, 150)
    order, edge_order, slots = cluster_slots(graph._slots)
    assert sorted(order.tolist()) == list(range(70))
    assert sorted(edge_order.tolist()) == list(range(graph.num_edges))
    node = torch.repeat_interleave(torch.arange(70), slots.start.diff())
    here, there = order[node], order[slots.column.long()]
    edge = edge_order[slots.edge.long()]
    assert torch.equal(torch.minimum(here, there), graph.tail[edge])
    assert torch.equal(torch.maximum(here, there), graph.head[edge])


def takes_population(x, graph, norm, steps):
    concavity = 8.0 if norm == "mcp" else None
    return explain_route(x, graph, ElasticPenalty(1.0, 1.0, norm, concavity), steps).taken == (
        "population"
    )
