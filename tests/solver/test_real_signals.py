"""Signals as people have them: gaps, offsets, units, strengths and weights of any size."""

import math

import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Verdict, lambda1_max, minimise
from marks import needs_kernels
from solver_signals import chain, random_graph, steps


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def some_missing(nodes, seed=0, share=0.3):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(nodes, generator=generator) > share).double()


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_missing_values_are_filled_however_small_the_strength(order, norm):
    graph, x = grid_graph(8, 7, normalization="none"), 3e5 + 1e5 * normal(56, 2)
    seen = some_missing(56)
    solution = minimise(x, graph, ElasticPenalty(0.5, 0.0, norm), data_weight=seen, order=order)
    assert solution.certified
    if order == 0:  # between the largest and the smallest neighbour, or on one of them
        low, high = neighbour_range(graph, solution.value)
        gone = seen == 0
        assert bool((solution.value[gone] >= low[gone] - 1).all())
        assert bool((solution.value[gone] <= high[gone] + 1).all())


def neighbour_range(graph, value):
    low, high = torch.full_like(value, math.inf), torch.full_like(value, -math.inf)
    for a, b in ((graph.tail, graph.head), (graph.head, graph.tail)):
        index = a[:, None].expand(-1, value.shape[1])
        low = low.scatter_reduce(0, index, value[b], "amin")
        high = high.scatter_reduce(0, index, value[b], "amax")
    return low, high


@pytest.mark.parametrize("scale", [1e-162, 1e-150, 1e-12, 1e38, 1e150, 1e160])
@pytest.mark.parametrize("order", [0, 1])
def test_the_unit_of_the_data_changes_nothing_but_the_unit(scale, order):
    x, graph = steps(torch.Generator().manual_seed(0)), chain(120)
    unit = 2.0 ** round(math.log2(scale))
    plain = minimise(x, graph, ElasticPenalty(0.5, 0.0), order=order)
    scaled = minimise(x * unit, graph, ElasticPenalty(0.5 * unit, 0.0), order=order)
    assert scaled.certified
    assert scaled.relative_gap == plain.relative_gap
    assert torch.equal(scaled.value, plain.value * unit)
    assert torch.equal(scaled.pieces(), plain.pieces())


@pytest.mark.parametrize("graph", [chain(120), grid_graph(12, 10, normalization="none")])
def test_an_offset_costs_no_more_than_the_digits_of_the_answer(graph):
    x = steps(torch.Generator().manual_seed(0))
    plain = minimise(x, graph, ElasticPenalty(0.5, 0.0))
    for offset in (1.7e9, 1e12):
        moved = minimise(x + offset, graph, ElasticPenalty(0.5, 0.0))
        assert moved.certified
        ulp = 2.0 ** (math.frexp(offset)[1] - 52)
        torch.testing.assert_close(moved.value - offset, plain.value, atol=2e-3 + ulp, rtol=0)
    far = minimise(x + 1e15, graph, ElasticPenalty(0.5, 0.0))
    assert far.verdict is Verdict.ROUNDING_FLOOR
    assert far.summary().startswith("at the rounding floor")


@pytest.mark.parametrize("order", [0, 1, 2])
def test_an_enormous_strength_gives_the_mean_with_a_true_certificate(order):
    graph, x = grid_graph(6, 5, normalization="none"), normal(30, 2)
    solution = minimise(x, graph, ElasticPenalty(1e300, 0.0), order=order)
    assert solution.certified
    torch.testing.assert_close(solution.value, x.mean(0).expand(30, -1), atol=1e-9, rtol=0)


def test_a_constant_signal_is_its_own_certified_answer():
    x = torch.full((20,), 0.1, dtype=torch.float64)
    solution = minimise(x, grid_graph(5, 4, normalization="none"), ElasticPenalty(2.0, 1.0))
    assert solution.certified
    assert (solution.objective, solution.gap) == (0.0, 0.0)
    assert torch.equal(solution.value, x)


@pytest.mark.parametrize(("order", "digits"), [(1, 3), (1, 6), (2, 1), (2, 6)])
def test_trends_with_gaps_stand_weights_of_any_size(order, digits):
    generator = torch.Generator().manual_seed(3)
    graph = random_graph(3, 15, "none")
    powers = torch.rand(graph.num_edges, generator=generator, dtype=torch.float64) * 2 - 1
    graph = graph.with_weight(10 ** (digits * powers))
    solution = minimise(
        normal(15, 1), graph, ElasticPenalty(0.5, 0.0), order=order, data_weight=some_missing(15)
    )
    assert 0 <= solution.gap <= solution.objective
    assert solution.certified or digits == 6  # K has entries of 1e-12 to 1e12 then


def test_zero_weight_edges_join_nothing():
    pairs = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    weight = torch.tensor([1.0, 2.0, 0.0, 1.0, 0.5], dtype=torch.float64)
    x = normal(6)
    whole = Graph.from_edge_index(pairs, 6, weight, undirected=True, normalization="none")
    parts = [
        Graph.from_edge_index(pairs[:, :2], 3, weight[:2], undirected=True, normalization="none"),
        Graph.from_edge_index(pairs[:, :2], 3, weight[3:], undirected=True, normalization="none"),
    ]
    ends = [lambda1_max(rows, part).value for rows, part in zip(x.split(3), parts, strict=True)]
    assert lambda1_max(x, whole).value == pytest.approx(max(ends), rel=1e-12)


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_a_row_with_one_empty_cell_keeps_its_other_channels(norm):
    x, graph = steps(torch.Generator().manual_seed(0), channels=2), chain(120)
    seen = torch.ones(120, 2)
    seen[50, 1] = 0.0
    x[50, 1] = math.nan
    solution = minimise(x, graph, ElasticPenalty(0.05, 0.0, norm), data_weight=seen)
    assert solution.certified
    assert abs(float(solution.value[50, 0] - x[50, 0])) < 0.2
    assert float(solution.value[50, 1]) == pytest.approx(2.0, abs=0.6)


def test_a_component_without_values_stays_missing_and_changes_nothing_else():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], 5, normalization="none")
    x = torch.tensor([0.0, 1.0, 5.0, math.nan, math.nan], dtype=torch.float64)
    solution = minimise(
        x, graph, ElasticPenalty(0.3, 0.0), data_weight=torch.tensor([1.0, 1, 1, 0, 0])
    )
    alone = minimise(x[:3], chain(3), ElasticPenalty(0.3, 0.0))
    assert solution.certified
    assert bool(solution.value[3:].isnan().all())
    torch.testing.assert_close(solution.value[:3], alone.value)
    assert solution.objective == pytest.approx(alone.objective)


def test_a_scipy_matrix_is_refused_with_the_way_to_make_a_graph():
    with pytest.raises(ValueError, match=r"Graph\.from_scipy"):
        minimise(torch.zeros(4), chain(4).to_scipy(), ElasticPenalty(1.0, 0.0))


@pytest.mark.parametrize("graph", [chain(56), grid_graph(8, 7, normalization="none")])
def test_without_a_strength_the_data_are_left_alone_to_the_last_digit(graph):
    x = normal(56)
    solution = minimise(x, graph, ElasticPenalty(0.0, 0.0))
    assert solution.certified
    assert torch.equal(solution.value, x)


@needs_kernels
@pytest.mark.parametrize("lambda1", [0.1, 1.0, 20.0])
def test_the_queue_of_chains_and_the_heaps_of_trees_say_the_same(lambda1):
    """A star beside the chains makes it a matter for heaps, and changes nothing else."""
    generator = torch.Generator().manual_seed(1)
    place = torch.randperm(300, generator=generator)
    links = torch.stack([place[:-1], place[1:]])[:, torch.arange(299) % 100 != 99]
    weight = torch.rand(links.shape[1], generator=generator, dtype=torch.float64) + 0.1
    star = torch.tensor([[300, 300, 300], [301, 302, 303]])
    chains = Graph.from_edge_index(links, 300, weight, undirected=True, normalization="none")
    both = Graph.from_edge_index(
        torch.cat([links, star], 1),
        304,
        torch.cat([weight, torch.ones(3)]),
        undirected=True,
        normalization="none",
    )
    x, seen = normal(304), torch.cat([some_missing(300), torch.ones(4)]).double()
    penalty = ElasticPenalty(lambda1, 0.0)
    queue = minimise(x[:300], chains, penalty, data_weight=seen[:300], rtol=1e-9)
    heaps = minimise(x, both, penalty, data_weight=seen, rtol=1e-9)
    assert queue.method == heaps.method == "forest"
    assert queue.certified
    assert heaps.certified
    given = seen[:300] > 0
    torch.testing.assert_close(queue.value[given], heaps.value[:300][given])


@needs_kernels
@pytest.mark.parametrize("seed", range(6))
def test_methods_agree_on_forests(seed):
    generator = torch.Generator().manual_seed(seed)
    parent = [int(torch.randint(i, (1,), generator=generator)) for i in range(1, 40)]
    index = torch.tensor([parent, list(range(1, 40))])
    weight = torch.rand(39, generator=generator, dtype=torch.float64)
    weight[torch.rand(39, generator=generator) < 0.1] = 0.0
    graph = Graph.from_edge_index(
        index, 40, weight, undirected=True, normalization=("none", "degree")[seed % 2]
    )
    data_weight = some_missing(40, seed, 0.4) * (0.5 + torch.rand(40, generator=generator))
    x, penalty = normal(40, 2, seed=seed), ElasticPenalty(0.3, 0.0, "l1")
    exact = minimise(x, graph, penalty, data_weight=data_weight, rtol=1e-12)
    assert (exact.method, exact.certified) == ("forest", True)
    for method in ("interior", "ascent"):
        other = minimise(
            x, graph, penalty, data_weight=data_weight, method=method, max_steps=2000, rtol=1e-7
        )
        assert exact.objective <= other.objective * (1 + 1e-12)
        assert other.objective - other.gap <= exact.objective * (1 + 1e-12)
    assert other.method == "ascent"


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_data_of_one_value_are_fitted_exactly(order, norm):
    """The minimum is 0, of which no iteration can show a relative gap."""
    graph = Graph.from_edge_index(torch.tensor([[0, 2, 3], [1, 3, 4]]), 5, undirected=True)
    graph = graph.with_normalization("none")
    x, seen = torch.full((5, 2), 0.1, dtype=torch.float64), torch.tensor([1.0, 0, 0, 1, 0])
    x[2:] = 0.3
    solution = minimise(x, graph, ElasticPenalty(0.4, 1.8, norm), data_weight=seen, order=order)
    assert solution.certified
    assert solution.method == "constant"
    assert solution.gap == solution.objective == 0
    assert torch.equal(solution.value, x)


def test_data_that_differ_are_not_taken_for_constant():
    x = torch.tensor([0.1, 0.1, 0.1 + 1e-12], dtype=torch.float64)
    assert minimise(x, chain(3), ElasticPenalty(0.4, 0.0)).method != "constant"
    lasso = minimise(x[[0, 0, 0]], chain(3), ElasticPenalty(0.4, 0.0), sparsity=0.01)
    assert lasso.method != "constant"
    assert float(lasso.value[0]) == pytest.approx(0.09, abs=1e-5)
    bounded = minimise(x[[0, 0, 0]], chain(3), ElasticPenalty(0.4, 0.0), upper=0.05)
    assert bounded.method != "constant"
    assert float(bounded.value.max()) <= 0.05


def test_equal_counts_have_one_rate():
    counts = torch.tensor([3.0, 3.0, 7.0], dtype=torch.float64)
    seen = torch.tensor([1.0, 1.0, 0.0])
    fit = minimise(counts, chain(3), ElasticPenalty(0.4, 0.0), data_weight=seen, loss="poisson")
    assert fit.certified
    assert fit.mean.tolist() == pytest.approx([3.0, 3.0, 3.0])


@pytest.mark.parametrize("order", [0, 1])
def test_an_offset_costs_nothing_where_all_nodes_have_one_degree(order):
    """A ring, normalised by its degrees: constants are flat there too."""
    node = torch.arange(12)
    ring = Graph.from_edge_index(torch.stack([node, (node + 1) % 12]), 12, undirected=True)
    x = normal(12, 1)
    for offset in (0.0, 1e9):
        assert minimise(x + offset, ring, ElasticPenalty(0.3, 0.2), order=order).certified


def test_an_offset_takes_the_bounds_along():
    x, penalty = normal(30), ElasticPenalty(0.3, 0.0)
    plain = minimise(x, chain(30), penalty, lower=-0.5, upper=0.5, loss="huber:0.7")
    moved = minimise(
        x + 2.0**27, chain(30), penalty, lower=2.0**27 - 0.5, upper=2.0**27 + 0.5, loss="huber:0.7"
    )
    assert moved.certified
    away = (moved.value - 2.0**27 - plain.value).abs().max()
    assert float(away) < 1e-2
    assert float(moved.value.min()) >= 2.0**27 - 0.5
