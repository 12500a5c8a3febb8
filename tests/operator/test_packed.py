"""The packed loops for short rows: equal to the reference for any graph, width and threads."""

import pickle
from copy import deepcopy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.operator import packed
from elasticgnn.problem import PENALTIES
from strategies import graphs, normal_rows, random_graph

pytestmark = pytest.mark.skipif(
    native is None or native.packed_lanes(1) == 0,
    reason="the packed loops need AVX-512; other CPUs use the general ones (test_fused.py)",
)


def value_and_gradient(x, graph, penalty, steps, implementation="fused", dtype=torch.float32):
    rows = x.to(dtype).requires_grad_()
    out = elastic_message_passing(rows, graph, penalty, steps, implementation=implementation)
    assert out.grad_fn is not None
    (grad,) = torch.autograd.grad(out, rows, normal_rows(*x.shape, seed=7).to(dtype))
    return out.detach(), grad


def assert_near(left, right, tolerance):
    assert float((left - right).abs().max()) <= tolerance * float(right.abs().max().clamp(min=1e-3))


def assert_equals_reference(x, graph, penalty, steps):
    fused = value_and_gradient(x, graph, penalty, steps)
    exact = value_and_gradient(x, graph, penalty, steps, "reference", torch.float64)
    for left, right in zip(fused, exact, strict=True):
        assert_near(left.double(), right, 2e-5)


@pytest.mark.parametrize("width", range(1, 17))
@pytest.mark.parametrize("lambda1", [0.01, 0.5, 3.0])  # nearly all rows leave the ball, some, few
@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_value_and_gradient_equal_the_reference(width, lambda1, norm):
    graph = random_graph(60, 200, weighted=width % 2 == 0)
    x = 2 * normal_rows(60, width)
    assert packing_is_used(x, graph, norm)
    assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.5, norm), 10)


def packing_is_used(x, graph, norm):
    return packed.packed_lanes(x.float(), graph, PENALTIES[norm].form, 1) > 0


@given(
    graphs(),
    st.integers(1, 16),
    st.sampled_from([0.05, 0.5, 5.0]),
    st.integers(1, 6),
    st.sampled_from(["l21", "l1"]),
)
def test_any_graph(graph, width, lambda1, steps, norm):
    x = normal_rows(graph.num_nodes, width)
    penalty = ElasticPenalty(lambda1, 1.0, norm)
    with torch.no_grad():
        fused = elastic_message_passing(x.float(), graph, penalty, steps, implementation="fused")
        exact = elastic_message_passing(x, graph, penalty, steps, implementation="reference")
    if fused.numel():
        assert_near(fused.double(), exact, 2e-5)


def leaves_and_chains(weighted):
    """Hubs with leaves (one slot each), chains (two slots), and a node without any."""
    edges = [(hub, 10 + 13 * hub + leaf) for hub in range(10) for leaf in range(13)]
    edges += [(node, node + 1) for node in range(140, 170)]
    count = torch.arange(1, len(edges) + 1)
    weight = 1 + count.sin() ** 2 if weighted else None
    return Graph.from_edge_index(torch.tensor(edges).T, 172, weight, undirected=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [3, 4, 5, 7, 8, 12])
@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_nodes_that_share_a_register_do_not_mix(width, weighted, norm):
    graph = leaves_and_chains(weighted)
    shares = set(graph._slots.packed(16 // native.packed_lanes(width)).share.tolist())
    assert shares == {3: {1, 2, 4}, 4: {1, 2, 4}, 5: {1, 3}, 7: {1, 2}, 8: {1, 2}, 12: {1}}[width]
    penalty = ElasticPenalty(0.4, 1.5, norm)
    assert_equals_reference(2 * normal_rows(172, width), graph, penalty, 10)


def test_the_gradient_of_a_step_without_any_row_outside_is_that_of_a_linear_map():
    graph = random_graph(30, 60)
    x = 0.01 * normal_rows(30, 5)
    assert_equals_reference(x, graph, ElasticPenalty(100.0, 2.0), 8)


def test_many_steps_need_many_pieces_of_memory():
    graph = random_graph(200, 900)
    assert_equals_reference(3 * normal_rows(200, 6), graph, ElasticPenalty(0.4, 0.5), 80)


@pytest.mark.parametrize("norm", ["l21", "l1"])
@pytest.mark.parametrize("width", [5, 7])
def test_bits_do_not_depend_on_the_number_of_threads(several_threads, norm, width):
    graph = random_graph(1500, 6000)
    x = 2 * normal_rows(1500, width)
    results = []
    for threads in several_threads:
        results.append(value_and_gradient(x, graph, ElasticPenalty(1.0, 3.0, norm), 6))
        assert native.last_threads() == threads
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_the_gradient_may_be_taken_on_another_number_of_threads(several_threads):
    graph = random_graph(1500, 6000)
    x = (2 * normal_rows(1500, 7)).float().requires_grad_()
    next(several_threads)
    out = elastic_message_passing(x, graph, ElasticPenalty(1.0, 3.0), 6)
    (alone,) = torch.autograd.grad(out, x, torch.ones_like(x), retain_graph=True)
    assert native.last_threads() == 1
    assert next(several_threads) == 2
    (both,) = torch.autograd.grad(out, x, torch.ones_like(x))
    assert native.last_threads() == 2
    assert torch.equal(alone, both)


def test_an_order_of_nodes_changes_nothing(monkeypatch):
    x, penalty = 2 * normal_rows(300, 5), ElasticPenalty(0.7, 2.0)
    edges = random_graph(300, 1500)
    natural = value_and_gradient(x, edges, penalty, 7)
    monkeypatch.setattr(native.tuning, "cache_bytes", 0)  # as if no cache held the rows
    fresh = Graph.from_edge_index(*edges.to_edge_index()[:1], 300)
    slots = fresh._slots.packed(3)
    assert sorted(slots.order.tolist()) == list(range(300))
    assert slots.order.tolist() != list(range(300))
    clustered = value_and_gradient(x, fresh, penalty, 7)
    for left, right in zip(natural, clustered, strict=True):
        assert_near(left, right, 1e-5)


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_nan_stays_in_reach_of_its_node(norm):
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], num_nodes=5)
    x = torch.ones(5, 3)
    x[0, 0] = float("nan")
    out = elastic_message_passing(x, graph, ElasticPenalty(1.0, 1.0, norm), 10)
    assert out[:3].isnan().any()
    assert out[3:].isfinite().all()


def test_large_numbers_do_not_turn_into_nan():
    graph = Graph.from_edges([(0, 1), (1, 2)], num_nodes=3)
    x = torch.tensor([[1e25, 0.0], [0.0, 0.0], [0.0, -1e25]])
    assert elastic_message_passing(x, graph, ElasticPenalty(1.0, 1.0), 5).isfinite().all()


def test_memory_that_runs_out_is_an_error_not_a_crash(scarce_memory):
    x = (5 * normal_rows(500, 3)).float().requires_grad_()
    with pytest.raises(MemoryError, match="no memory for the rows"):
        elastic_message_passing(x, random_graph(500, 2000), ElasticPenalty(0.1, 1.0), 20)


def test_runs_side_by_side_equal_runs_alone():
    graph = random_graph(80, 300, weighted=True)
    x = 2 * normal_rows(80, 5, 6)
    lambda1 = torch.tensor([0.0, 0.2, 1.0, 5.0, 0.0])  # without a dual too
    lambda2 = torch.tensor([1.0, 0.0, 3.0, float("inf"), float("inf")])
    together = value_and_gradient(x, graph, ElasticPenalty(lambda1, lambda2), 7)
    for run in range(5):
        penalty = ElasticPenalty(float(lambda1[run]), float(lambda2[run]))
        alone = value_and_gradient(x[:, run], graph, penalty, 7)
        assert torch.equal(together[0][:, run], alone[0])
    exact = value_and_gradient(
        x, graph, ElasticPenalty(lambda1, lambda2), 7, "reference", torch.float64
    )
    for left, right in zip(together, exact, strict=True):
        assert_near(left.double(), right, 2e-5)


@pytest.mark.parametrize("copied", [deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_a_copy_of_a_graph_that_was_used_has_tables_of_its_own(copied):
    graph = random_graph(50, 120)
    value_and_gradient(normal_rows(50, 4), graph, ElasticPenalty(1.0, 1.0), 3)
    tables = packed._tables(copied(graph), 4)
    places = {table.data_ptr() for table in tables.owners}
    assert set(tables.addresses) - {0} <= places
