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


def test_a_node_is_work_beside_its_edges():
    # 900 nodes with one edge each, and 100 that have all others
    dense = random_graph(100, 6000)
    leaves = torch.stack([torch.arange(900), 900 + torch.arange(900) % 100])
    among = 900 + torch.stack([dense.tail, dense.head])
    graph = Graph.from_edge_index(torch.cat([leaves, among], 1), 1000, undirected=True)
    *_, last = edges_of_tiles(tile_edges(graph.tail, graph.head, 1000, 4))
    border = int(last[1][0].min())  # the first node of the third of four blocks
    ends = torch.bincount(torch.cat([graph.tail, graph.head]), minlength=1000)
    half = int((ends[:border] + tuning.ENDS_PER_NODE).sum())
    assert half == pytest.approx(int((ends + tuning.ENDS_PER_NODE).sum()) / 2, rel=0.05)
    assert int(ends[:border].sum()) < 0.45 * int(ends.sum())


def test_nodes_without_edges_take_no_part_of_the_work():
    graph = random_graph(100, 3000)
    few = tile_edges(graph.tail, graph.head, 100, 4)
    many = tile_edges(900 + graph.tail, 900 + graph.head, 1000, 4)
    assert torch.equal(few.first_edge, many.first_edge)


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
