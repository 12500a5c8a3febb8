"""Defences on many flipped graphs at once against the same graphs one by one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from elasticgnn.defence import GPRGNN, RUNG, GNNGuard, Jaccard, SoftMedian
from elasticgnn.graph import Graph
from elasticgnn.operator.flipped import FlipTables
from elasticgnn.operator.flipped_defences import (
    MixedLayers,
    Reweighting,
    among,
    layers_on_flipped,
    polynomial_on_flipped,
    reweighted_on_flipped,
)
from flipped_graphs import random_flips, random_graph
from marks import needs_kernels

pytestmark = needs_kernels
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
SIZES = {"nodes": st.integers(2, 12), "width": st.sampled_from([1, 7, 9])}
SIZES["seed"] = st.integers(0, 999)
LAYERS = (GNNGuard, SoftMedian, Jaccard)


def drawn(nodes, seed):
    generator = torch.Generator().manual_seed(seed)
    graph = random_graph(nodes, seed % (2 * nodes), generator)
    return generator, graph, random_flips(nodes, 5, 4, generator)


@settings(max_examples=25, deadline=None)
@given(**SIZES, norm=st.sampled_from(["mcp", "l1", "l2"]), double_root=st.booleans())
def test_reweighted_steps_equal_those_on_each_graph(nodes, width, seed, norm, double_root):
    generator, graph, flips = drawn(nodes, seed)
    x = torch.randn(nodes, width, generator=generator)
    model = RUNG(3, 4, width, K=4, gamma=1.5, norm=norm, double_root=double_root)
    options = Reweighting(norm, model.fidelity, 1 / 3, 0.01, double_root, 4)
    found = reweighted_on_flipped(x, FlipTables(graph), options, flips, rows=True)
    for number in range(len(flips)):
        expected = model.smooth(x, graph.with_edges_flipped(flips[number]), None)
        torch.testing.assert_close(found.rows[number], expected, **CLOSE)


@settings(max_examples=15, deadline=None)
@given(**SIZES)
def test_polynomials_equal_those_on_each_graph(nodes, width, seed):
    generator, graph, flips = drawn(nodes, seed)
    x, model = torch.randn(nodes, width, generator=generator), GPRGNN(3, 4, width, K=3)
    found = polynomial_on_flipped(x, FlipTables(graph), model.mix, flips, rows=True)
    for number in range(len(flips)):
        expected = model.smooth(x, graph.with_edges_flipped(flips[number]), None)
        torch.testing.assert_close(found.rows[number], expected, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(**SIZES, hidden=st.sampled_from([3, 8, 20]), kind=st.sampled_from(LAYERS))
def test_layers_equal_those_on_each_graph(nodes, width, seed, hidden, kind):
    generator, graph, flips = drawn(nodes, seed)
    first = torch.ones(nodes, 3) if kind is Jaccard else 3  # all alike: nothing is cleaned away
    model = kind(first, hidden, width).eval()
    x = torch.randn(nodes, hidden, generator=generator)
    weight2 = torch.randn(hidden, width, generator=generator)
    layers = MixedLayers(x, weight2, torch.randn(width, generator=generator), *model.mixing())
    found = layers_on_flipped(layers, FlipTables(graph), flips, rows=True)
    for number in range(len(flips)):
        flipped = graph.with_edges_flipped(flips[number])
        rows = torch.relu(model.aggregate(x, flipped)) @ weight2 + layers.bias2
        torch.testing.assert_close(found.rows[number], model.aggregate(rows, flipped), **CLOSE)


@pytest.mark.parametrize("leaves", [63, 64, 65, 90])  # up to 64 rows are compared, more are sorted
def test_medians_of_hubs_equal_those_on_each_graph(leaves):
    generator = torch.Generator().manual_seed(leaves)
    graph = Graph.from_edges([(0, leaf) for leaf in range(1, leaves + 1)])
    flips = random_flips(leaves + 1, 5, 4, generator)
    x = torch.randn(leaves + 1, 8, generator=generator)
    x[::3] = x[0]  # equal values
    model, weight2 = SoftMedian(3, 8, 7).eval(), torch.randn(8, 7, generator=generator)
    layers = MixedLayers(x, weight2, torch.zeros(7), *model.mixing())
    found = layers_on_flipped(layers, FlipTables(graph), flips, rows=True)
    for number in range(len(flips)):
        flipped = graph.with_edges_flipped(flips[number])
        rows = torch.relu(model.aggregate(x, flipped)) @ weight2
        torch.testing.assert_close(found.rows[number], model.aggregate(rows, flipped), **CLOSE)


def test_among_keeps_the_allowed_pairs_of_each_list():
    _, _, flips = drawn(9, 5)
    allowed = torch.rand(9, 9, generator=torch.Generator().manual_seed(0)) < 0.5
    kept = among(flips, allowed)
    for number in range(len(flips)):
        expected = [pair for pair in flips[number].tolist() if allowed[tuple(pair)]]
        assert kept[number].tolist() == expected
