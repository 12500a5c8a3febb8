"""Wide rows: equal to the reference on any graph, in the same bits on any number of threads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.graph import grid_graph
from elasticgnn.graph.edge_tiles import count_blocks
from elasticgnn.kernels import native
from elasticgnn.operator import explain_route, wide
from elasticgnn.operator.kernel_call import kernel
from elasticgnn.problem import PENALTIES
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels
NORMS = (*PENALTIES,)
WIDTHS = (1, 8, 17, 33, 40, 64, 75, 128, 150)


def penalty_of(norm, lambda1, lambda2=1.5):
    concavity = 40.0 if norm not in CONVEX_NORMS else None
    return ElasticPenalty(lambda1, lambda2, norm, concavity)


def value_and_gradient(x, graph, penalty, steps, implementation="fused", memory="fast"):
    rows = x.clone().requires_grad_()
    options = {"implementation": implementation, "memory": memory}
    out = elastic_message_passing(rows, graph, penalty, steps, **options)
    (grad,) = torch.autograd.grad(out, rows, normal_rows(*x.shape, seed=7).to(x.dtype))
    return out.detach(), grad


def assert_near(left, right, tolerance):
    bound = tolerance * float(right.abs().max().clamp(min=1e-3))
    assert float((left.double() - right.double()).abs().max()) <= bound


def assert_equals_reference(x, graph, penalty, steps, tolerance):
    fused = value_and_gradient(x, graph, penalty, steps)
    exact = value_and_gradient(x.double(), graph, penalty, steps, "reference")
    for left, right in zip(fused, exact, strict=True):
        assert_near(left, right, tolerance)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_values_equal_the_reference(width, norm, dtype):
    graph = random_graph(60, 400, weighted=width % 2 == 0)
    x = (2 * normal_rows(60, width)).to(dtype)
    penalty = penalty_of(norm, 0.5)
    exact = elastic_message_passing(x.double(), graph, penalty, 8, implementation="reference")
    fused = elastic_message_passing(x, graph, penalty, 8, implementation="fused")
    assert_near(fused, exact, 2e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("width", [17, 40, 64, 96, 130])
@pytest.mark.parametrize("lambda1", [0.01, 1.0, 30.0])  # nearly all rows are active, some, none
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_value_and_gradient_equal_the_reference(width, lambda1, dtype):
    graph = random_graph(60, 200, weighted=width % 2 == 0)
    x = (2 * normal_rows(60, width)).to(dtype)
    tolerance = 2e-5 if dtype == torch.float32 else 1e-11
    assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.5), 10, tolerance)


@given(graphs(), st.integers(1, 20), st.sampled_from([0.05, 0.5, 5.0]), st.integers(1, 6))
def test_any_graph(graph, width, lambda1, steps):
    x = normal_rows(graph.num_nodes, width)
    if x.numel():
        assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.0), steps, 1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_graphs_in_several_tiles_equal_the_reference(weighted):
    for nodes, edges, blocks in ((5000, 25_000, 4), (900, 30_000, 8), (400, 40_000, 16)):
        graph = random_graph(nodes, edges, weighted=weighted)
        assert count_blocks(nodes, graph.num_edges) == blocks
        x = 2 * normal_rows(nodes, 10)
        assert_equals_reference(x, graph, ElasticPenalty(1.0, 1.5), 2, 1e-10)


@pytest.fixture
def small_cache(monkeypatch):
    """So small that rows of a few nodes fill it, and neighbours are gathered block by block."""
    monkeypatch.setattr(native.tuning, "cache_bytes", 1 << 14)
    monkeypatch.setattr(native.tuning, "slots_per_visit", 2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [24, 40, 64, 150])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_neighbours_gathered_block_by_block_equal_the_reference(
    small_cache, weighted, width, dtype
):
    graph = random_graph(300, 6000, weighted=weighted)
    x = (2 * normal_rows(300, width)).to(dtype)
    tolerance = 2e-5 if dtype == torch.float32 else 1e-11
    for lambda1 in (0.1, 3.0):
        assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.5), 10, tolerance)


def test_blocks_change_the_order_of_sums_and_nothing_else(small_cache, monkeypatch):
    graph, x = random_graph(300, 6000), normal_rows(300, 64).float()
    by_blocks = value_and_gradient(x, graph, ElasticPenalty(1.0, 1.5), 5)
    monkeypatch.setattr(native.tuning, "slots_per_visit", 1 << 30)
    by_nodes = value_and_gradient(x, graph, ElasticPenalty(1.0, 1.5), 5)
    for left, right in zip(by_blocks, by_nodes, strict=True):
        assert not torch.equal(left, right)  # they were used
        assert_near(left, right, 1e-5)


def test_bits_of_blocks_do_not_depend_on_the_number_of_threads(small_cache, several_threads):
    graph = random_graph(2000, 60_000, weighted=True)
    x = 2 * normal_rows(2000, 24).float()
    results = []
    for threads in several_threads:
        results.append(value_and_gradient(x, graph, ElasticPenalty(3.0, 3.0), 3))
        assert native.last_threads() == threads
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_nodes_without_neighbours_are_visited_by_blocks_too(small_cache):
    dense = random_graph(300, 6000)
    graph = Graph.from_edge_index(
        torch.stack([dense.tail, dense.head]), 340, undirected=True
    )  # the last 40 are alone
    x = normal_rows(340, 40).double()
    assert_equals_reference(x, graph, ElasticPenalty(0.5, 1.5), 6, 1e-11)


GRAPHS = {
    "random": random_graph(2000, 30_000),
    "dense, weighted": random_graph(1000, 40_000, weighted=True),
    "local": grid_graph(110, 110),
}


@pytest.mark.parametrize(
    ("name", "norm"), [*((name, "l21") for name in GRAPHS), ("random", "l1"), ("local", "scad")]
)
def test_bits_do_not_depend_on_the_number_of_threads(several_threads, name, norm):
    graph = GRAPHS[name]
    x = 2 * normal_rows(graph.num_nodes, 24).float()
    results = []
    for threads in several_threads:
        with torch.no_grad():
            results.append(elastic_message_passing(x, graph, penalty_of(norm, 0.5), 3))
        assert native.last_threads() == threads
    assert all(torch.equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("name", GRAPHS)
def test_bits_of_the_gradient_do_not_depend_on_the_number_of_threads(several_threads, name):
    graph = GRAPHS[name]
    x = 2 * normal_rows(graph.num_nodes, 24).float()
    results = []
    for threads in several_threads:
        results.append(value_and_gradient(x, graph, ElasticPenalty(3.0, 3.0), 3))
        assert native.last_threads() == threads
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_dual_stored_past_the_caches_is_the_same(several_threads, dtype, monkeypatch):
    graph = random_graph(600, 21_000, weighted=True)  # several tiles
    x, penalty = 2 * normal_rows(600, 64).to(dtype), ElasticPenalty(3.0, 3.0)
    results = [value_and_gradient(x, graph, penalty, 3)]
    monkeypatch.setattr(native.tuning, "shared_cache_bytes", 0)
    for _ in several_threads:
        results.append(value_and_gradient(x, graph, penalty, 3))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_the_gradient_has_the_values_of_the_forward_pass_alone():
    x, graph, penalty = normal_rows(60, 40), random_graph(60, 300), ElasticPenalty(0.5, 1.5)
    with torch.no_grad():
        alone = elastic_message_passing(x, graph, penalty, 5)
    assert torch.equal(alone, value_and_gradient(x, graph, penalty, 5)[0])


@pytest.mark.parametrize(("lambda1", "kept"), [(4.0, [True]), (0.01, [False])])
def test_lean_mode_keeps_rows_while_they_weigh_less_than_checkpoints(lambda1, kept, monkeypatch):
    graph, penalty = random_graph(60, 300), ElasticPenalty(lambda1, 1.5)
    x = normal_rows(60, 18)
    routes, real = [], wide.propagate_active

    def watched(*arguments):
        routes.append(False)
        out = real(*arguments)
        routes[-1] = True
        return out

    monkeypatch.setattr(wide, "propagate_active", watched)
    lean = value_and_gradient(x, graph, penalty, 10, memory="lean")
    assert routes == kept
    exact = value_and_gradient(x, graph, penalty, 10, "reference")
    for left, right in zip(lean, exact, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-10, atol=1e-12)


def test_a_hub_has_room_for_the_rows_of_its_edges():
    hub = [(0, leaf) for leaf in range(1, 9000)]  # more than a chunk
    graph = Graph.from_edges([*hub, (1, 2), (2, 3)], num_nodes=9000)
    assert_equals_reference(3 * normal_rows(9000, 18), graph, ElasticPenalty(0.1, 1.0), 3, 1e-10)


def test_nan_stays_in_reach_of_its_node():
    graph = random_graph(40, 60)
    x = normal_rows(40, 40).float()
    x[3] = torch.nan
    wanted = ElasticPenalty(0.5, 1.0)
    out = elastic_message_passing(x, graph, wanted, 1)
    exact = elastic_message_passing(x, graph, wanted, 1, implementation="reference")
    assert torch.equal(out.isnan(), exact.isnan())


def test_memory_that_runs_out_is_an_error_not_a_crash(scarce_memory):
    x = (5 * normal_rows(100, 20)).requires_grad_()
    with pytest.raises(MemoryError, match="no memory for the rows"):
        elastic_message_passing(x, random_graph(100, 400), ElasticPenalty(0.1, 1.0), 5)


LAZY = {
    "plain": (0, 32),
    "three steps": (3, 0),
    "all steps": (99, 0),
    "while few are active": (99, 4),
}


@pytest.mark.parametrize("width", [5, 16, 40, 75])
@pytest.mark.parametrize("lambda1", [0.05, 1.0, 2.0, 30.0])  # from all rows active to none
@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_dual_is_the_same_dual(width, lambda1, name, monkeypatch):
    steps, edges_per_row = LAZY[name]
    monkeypatch.setattr(native.tuning, "lazy_steps", steps)
    monkeypatch.setattr(native.tuning, "lazy_edges_per_row", edges_per_row)
    graph = random_graph(60, 200, weighted=width % 2 == 0)
    x = 2 * normal_rows(60, width)
    assert_equals_reference(x.float(), graph, ElasticPenalty(lambda1, 1.5), 8, 2e-5)
    assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.5), 8, 1e-11)


@pytest.mark.parametrize("width", [9, 16])
@pytest.mark.parametrize("lambda1", [0.05, 1.0, 2.0, 30.0])  # from all rows active to none
@pytest.mark.parametrize("name", LAZY)
def test_rows_of_one_register_equal_the_reference(width, lambda1, name, monkeypatch):
    steps, edges_per_row = LAZY[name]
    monkeypatch.setattr(native.tuning, "lazy_steps", steps)
    monkeypatch.setattr(native.tuning, "lazy_edges_per_row", edges_per_row)
    graph = random_graph(60, 900, weighted=width % 2 == 0)  # runs of one tail of any length
    x, penalty = 2 * normal_rows(60, width).float(), ElasticPenalty(lambda1, 1.5)
    assert explain_route(x, graph, penalty).taken == "wide"
    assert_equals_reference(x, graph, penalty, 8, 2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_that_are_trained_are_read_anew(dtype):
    graph, penalty = random_graph(60, 400), ElasticPenalty(0.5, 1.5)
    weight = torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(0), dtype=dtype)
    trained = graph.with_weight(weight.requires_grad_())
    x = (2 * normal_rows(60, 40)).to(dtype)
    for _ in range(2):
        with torch.no_grad():
            assert explain_route(x, trained, penalty).taken == "wide"
            fused = elastic_message_passing(x, trained, penalty, 8, implementation="fused")
            exact = elastic_message_passing(x, trained, penalty, 8, implementation="reference")
            weight.mul_(3.0)  # as an optimizer does, in place
        assert_near(fused, exact, 2e-5 if dtype == torch.float32 else 1e-12)


def test_weights_are_laid_out_once_for_a_graph(monkeypatch):
    graph, penalty = random_graph(60, 400, weighted=True), ElasticPenalty(0.5, 1.5)
    calls = []
    monkeypatch.setattr(wide, "kernel", lambda *name: calls.append(name[0]) or kernel(*name))
    for _ in range(3):
        elastic_message_passing(normal_rows(60, 40), graph, penalty, 2)
    assert calls.count("wide_weights") == 1
    assert calls.count("wide_forward") == 3


@pytest.mark.parametrize("name", LAZY)
def test_the_bits_of_a_lazy_dual_do_not_depend_on_the_number_of_threads(
    several_threads, name, monkeypatch
):
    steps, edges_per_row = LAZY[name]
    monkeypatch.setattr(native.tuning, "lazy_steps", steps)
    monkeypatch.setattr(native.tuning, "lazy_edges_per_row", edges_per_row)
    x, penalty = 2 * normal_rows(2000, 24).float(), ElasticPenalty(3.0, 3.0)
    results = [value_and_gradient(x, GRAPHS["random"], penalty, 6) for _ in several_threads]
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_hundreds_of_steps_round_no_more_with_a_lazy_dual(monkeypatch):
    graph, penalty = random_graph(300, 3000), ElasticPenalty(30.0, 3.0)  # no row is active
    x = 100 + normal_rows(300, 40)
    exact = elastic_message_passing(x, graph, penalty, 300, implementation="reference")

    def error():
        out = elastic_message_passing(x.float(), graph, penalty, 300, implementation="fused")
        return float((out.double() - exact).abs().max())

    lazy = error()
    monkeypatch.setattr(native.tuning, "lazy_steps", 0)
    assert lazy < 2 * error()


def test_nan_in_one_channel_reaches_its_row_where_the_dual_is_lazy():
    penalty = ElasticPenalty(30.0, 1.0)
    for width, edges in ((10, 60), (10, 500), (40, 60)):
        graph = random_graph(40, edges)
        x = normal_rows(40, width).float()
        x[3, 2] = torch.nan
        out = elastic_message_passing(x, graph, penalty, 3)
        exact = elastic_message_passing(x, graph, penalty, 3, implementation="reference")
        assert torch.equal(out.isnan(), exact.isnan())
