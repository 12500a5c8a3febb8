"""Many flipped graphs at once against the same graphs one by one."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from at_work import threads_at_work
from elasticgnn.graph import Graph
from elasticgnn.operator import elastic_message_passing
from elasticgnn.operator.flipped import (
    FlipLists,
    FlipTables,
    TwoLayers,
    convolutions_on_flipped,
    elastic_on_flipped,
)
from elasticgnn.problem import ElasticPenalty
from flipped_graphs import random_flips, random_graph
from marks import needs_kernels

pytestmark = needs_kernels
PENALTIES = [
    ElasticPenalty(0.3, 2.0),
    ElasticPenalty(0.3, 2.0, "l1"),
    ElasticPenalty(0.0, 9.0),
    ElasticPenalty(0.2, 0.0, "mcp", 2.5),
    ElasticPenalty(0.2, 0.0, "scad", 3.2),
    ElasticPenalty(0.5, 0.0),
]


@settings(max_examples=25, deadline=None)
@given(
    nodes=st.integers(2, 12),
    width=st.sampled_from([1, 3, 7, 8, 9, 16]),
    penalty=st.sampled_from(PENALTIES),
    steps=st.integers(0, 6),
    seed=st.integers(0, 1000),
)
def test_elastic_steps_equal_those_on_each_graph(nodes, width, penalty, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    graph = random_graph(nodes, seed % (2 * nodes), generator)
    flips = random_flips(nodes, 5, 4, generator)
    x = torch.randn(nodes, width, generator=generator)
    found = elastic_on_flipped(x, FlipTables(graph), penalty, steps, flips, rows=True)
    for number in range(len(flips)):
        flipped = graph.with_edges_flipped(flips[number])
        expected = elastic_message_passing(x, flipped, penalty, steps, implementation="reference")
        torch.testing.assert_close(found.rows[number], expected, rtol=1e-4, atol=1e-5)
        assert torch.equal(found.label[number].long(), found.rows[number].argmax(1))


@pytest.mark.parametrize(("hidden", "width"), [(5, 3), (8, 7), (20, 9)])
def test_convolutions_equal_the_written_formula(hidden, width):
    generator = torch.Generator().manual_seed(hidden)
    graph, flips = random_graph(15, 20, generator), random_flips(15, 6, 5, generator)
    draw = [torch.randn(shape, generator=generator) for shape in [(15, hidden), (hidden,)]]
    draw += [torch.randn(shape, generator=generator) for shape in [(hidden, width), (width,)]]
    layers = TwoLayers(*draw)
    found = convolutions_on_flipped(layers, FlipTables(graph), flips, rows=True)
    for number in range(len(flips)):
        flipped = graph.with_edges_flipped(flips[number])
        hidden_rows = torch.relu(flipped.smooth(layers.x) + layers.bias1)
        expected = flipped.smooth(hidden_rows @ layers.weight2) + layers.bias2
        torch.testing.assert_close(found.rows[number], expected, rtol=1e-4, atol=1e-5)


def test_same_bits_on_any_number_of_threads():
    generator = torch.Generator().manual_seed(0)
    graph, flips = random_graph(40, 80, generator), random_flips(40, 9, 30, generator)
    x, before = torch.randn(40, 7, generator=generator), torch.get_num_threads()
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        arguments = (x, FlipTables(graph), PENALTIES[0], 5, flips)
        run = partial(elastic_on_flipped, *arguments, rows=True)
        found.append(run())
        assert threads_at_work(run) >= threads
    torch.set_num_threads(before)
    assert torch.equal(found[0].rows, found[1].rows)


@pytest.mark.parametrize("pair", [(1, 1), (2, 1), (0, 40), (-1, 3)])
def test_pairs_outside_the_graph_are_refused(pair):
    graph = random_graph(40, 80, torch.Generator().manual_seed(0))
    flips = FlipLists(torch.tensor([pair], dtype=torch.int32), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="pairs must be"):
        elastic_on_flipped(torch.zeros(40, 2), FlipTables(graph), PENALTIES[0], 2, flips)


def test_weighted_graphs_are_refused():
    graph = Graph.from_edges([(0, 1, 2.0)])
    with pytest.raises(ValueError, match="unit weights"):
        FlipTables(graph)
