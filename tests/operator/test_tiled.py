"""Edges in tiles: equal to the reference on any graph, in the same bits on one and two threads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.graph.tiling import tile_edges
from elasticgnn.kernels import native
from elasticgnn.operator import tiled
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels
WIDEST = native.tiled_width if native else 64  # with AVX-512 64; up to 16 channels are packed there
WIDTHS = [width for width in (3, 8, 12, 17, 31, 32, 40, 48, 64) if WIDEST // 4 < width <= WIDEST]


def any_tiles(x, graph, norm, steps):
    """The tiles, whether or not they pay."""
    return tile_edges(graph.tail, graph.head, graph.num_nodes, 4)


@pytest.fixture
def always(monkeypatch, restore_threads):
    """The route is taken, whether or not tiles pay; gives the calls. One thread: these graphs are
    so small that two would mostly wait for one another."""
    torch.set_num_threads(1)
    calls = []

    def tiles_for(x, *rest):
        calls.append(x.shape)
        return any_tiles(x, *rest)

    monkeypatch.setattr(tiled, "tiles_for", tiles_for)
    return calls


def assert_equals_reference(x, graph, penalty, steps):
    fused = elastic_message_passing(x.float(), graph, penalty, steps, implementation="fused")
    exact = elastic_message_passing(x, graph, penalty, steps, implementation="reference")
    scale = float(exact.abs().max().clamp(min=1e-3))
    assert float((fused.double() - exact).abs().max()) <= 2e-5 * scale


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lambda1", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_equal_the_reference(width, lambda1, weighted, always):
    graph = random_graph(60, 400, weighted=weighted)
    assert_equals_reference(2 * normal_rows(60, width), graph, ElasticPenalty(lambda1, 1.5), 10)
    assert len(always) == 1


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_any_number_of_steps(steps, always):
    assert_equals_reference(
        normal_rows(30, WIDTHS[0]), random_graph(30, 200), ElasticPenalty(0.5, 1.0), steps
    )


@given(graphs(), st.sampled_from(WIDTHS), st.sampled_from([0.05, 0.5, 5.0]), st.integers(1, 6))
def test_any_graph(graph, width, lambda1, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiled, "tiles_for", any_tiles)
        patch.setattr(torch, "get_num_threads", lambda: 1)
        x = normal_rows(graph.num_nodes, width)
        assert_equals_reference(x, graph, ElasticPenalty(lambda1, 1.0), steps)


@pytest.mark.parametrize("weighted", [False, True])
def test_bits_do_not_depend_on_the_number_of_threads(weighted, always):
    graph = random_graph(2000, 30_000, weighted=weighted)
    x = normal_rows(2000, WIDTHS[-1]).float()
    results = []
    for threads in (1, 2, 1, 2):
        torch.set_num_threads(threads)
        results.append(elastic_message_passing(x, graph, ElasticPenalty(0.5, 1.5), 6))
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_nan_stays_in_reach_of_its_node(always):
    graph = random_graph(40, 60)
    x = normal_rows(40, WIDTHS[0]).float()
    x[3] = torch.nan
    out = elastic_message_passing(x, graph, ElasticPenalty(0.5, 1.0), 1)
    exact = elastic_message_passing(
        x, graph, ElasticPenalty(0.5, 1.0), 1, implementation="reference"
    )
    assert torch.equal(out.isnan(), exact.isnan())


def test_the_route_is_for_large_rows_of_one_run_without_locality(monkeypatch, restore_threads):
    graph, steps = random_graph(100, 1500), 5
    x = normal_rows(100, WIDEST).float()
    torch.set_num_threads(2)
    assert tiled.tiles_for(x, graph, "l21", steps) is None  # fits the caches
    monkeypatch.setattr(tiled, "LEAST", x.nbytes)
    assert tiled.tiles_for(x, graph, "l21", steps) is not None
    assert tiled.tiles_for(x, graph, "l1", steps) is None
    assert tiled.tiles_for(x.double(), graph, "l21", steps) is None
    assert tiled.tiles_for(x.repeat(1, 2), graph, "l21", steps) is None
    assert tiled.tiles_for(x.view(100, 2, -1), graph, "l21", steps) is None
    assert tiled.tiles_for(x, random_graph(100, 200), "l21", steps) is None
    torch.set_num_threads(3)
    assert tiled.tiles_for(x, graph, "l21", steps) is None


def test_gradients_and_penalties_without_a_dual_take_other_routes(always):
    graph = random_graph(40, 300)
    x = normal_rows(40, WIDTHS[0]).float().requires_grad_()
    elastic_message_passing(x, graph, ElasticPenalty(0.5, 1.0), 3).sum().backward()
    elastic_message_passing(x.detach(), graph, ElasticPenalty(0.0, 1.0), 3)
    assert always == []
