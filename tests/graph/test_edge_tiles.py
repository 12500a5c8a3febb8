"""Tiles of edges: each edge in one, rounds without a common node, as the graph alone says."""

from itertools import pairwise

import pytest
import torch

from elasticgnn.graph import Graph
from elasticgnn.graph.edge_tiles import count_blocks, tile_edges
from elasticgnn.kernels import tuning
from strategies import random_graph


def edges_of_tiles(tiles):
    """The tail and head of each tile's edges, by rounds."""
    first = tiles.first_edge.tolist()
    pairs = [(tiles.tail[a:b], tiles.head[a:b]) for a, b in pairwise(first)]
    rounds = tiles.first_tile.tolist()
    return [pairs[a:b] for a, b in pairwise(rounds)]


@pytest.mark.parametrize("blocks", [2, 4, 8, 16])
def test_every_edge_lies_in_one_tile(blocks):
    graph = random_graph(50, 600)
    tiles = tile_edges(graph.tail, graph.head, 50, blocks)
    assert torch.equal(tiles.edge.long().sort().values, torch.arange(graph.num_edges))
    assert torch.equal(tiles.tail.long(), graph.tail[tiles.edge.long()])
    assert torch.equal(tiles.head.long(), graph.head[tiles.edge.long()])
    assert tiles.first_edge[[0, -1]].tolist() == [0, graph.num_edges]
    assert tiles.first_tile.tolist()[-1] == len(tiles.first_edge) - 1


@pytest.mark.parametrize("blocks", [4, 8, 16])
def test_no_two_tiles_of_a_round_share_a_node(blocks):
    graph = random_graph(50, 600)
    for tiles in edges_of_tiles(tile_edges(graph.tail, graph.head, 50, blocks)):
        nodes = [torch.cat(pair).unique() for pair in tiles]
        assert len(torch.cat(nodes).unique()) == sum(map(len, nodes)) or not nodes


@pytest.mark.parametrize("blocks", [2, 4, 8])
def test_tails_ascend_in_every_tile_and_in_the_whole_last_round(blocks):
    graph = random_graph(50, 600)
    rounds = edges_of_tiles(tile_edges(graph.tail, graph.head, 50, blocks))
    runs = [tail for tiles in rounds for tail, _ in tiles]
    runs.append(torch.cat([tail for tail, _ in rounds[-1]]))
    assert all(bool((tail.diff() >= 0).all()) for tail in runs)


def test_the_tiles_of_a_round_have_about_equally_many_edges():
    graph = random_graph(500, 20_000)
    for tiles in edges_of_tiles(tile_edges(graph.tail, graph.head, 500, 4)):
        counts = [len(tail) for tail, _ in tiles]
        assert max(counts) < 1.1 * min(counts)


def test_nodes_without_edges_need_no_tile():
    graph = Graph.from_edges([(0, 1), (1, 2)], num_nodes=9)
    tiles = tile_edges(graph.tail, graph.head, 9, 4)
    assert tiles.first_edge.tolist() == [0, 1, 2]
    assert tiles.first_tile[[0, -1]].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("nodes", "edges", "blocks"),
    [(50, 500, 2), (5000, 30_000, 4), (900, 30_000, 8), (9, 10**6, 16)],
)
def test_the_graph_alone_decides_the_blocks(nodes, edges, blocks):
    assert count_blocks(nodes, edges) == blocks <= tuning.MOST_BLOCKS


def test_chunks_do_not_cross_tiles():
    graph = random_graph(50, 600)
    tiles = tile_edges(graph.tail, graph.head, 50, 4)
    counts = tiles.first_edge.diff().tolist()
    assert tiles.num_chunks(7) == sum(-(-count // 7) for count in counts)
