"""Tiles: every edge in the one of its two blocks, and no block twice in a round."""

import itertools

import pytest
import torch

from elasticgnn.graph.tiling import _tile_of_pairs, count_blocks, tile_edges
from strategies import random_graph


@pytest.mark.parametrize("blocks", [2, 4, 8, 16])
def test_every_two_blocks_meet_once_and_none_twice_in_a_round(blocks):
    tile_of = _tile_of_pairs(blocks)
    seen = []
    for tile in range(blocks * (blocks + 1) // 2):
        left, right = (tile_of == tile).nonzero()
        seen.append({*left.tolist(), *right.tolist()})
    assert all(len(pair) == 2 for pair in seen[:-blocks])
    assert seen[-blocks:] == [{block} for block in range(blocks)]
    for meeting in range(blocks - 1):
        together = seen[meeting * blocks // 2 : (meeting + 1) * blocks // 2]
        assert len(set().union(*together)) == blocks


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
def test_the_tiles_hold_every_edge_once(blocks):
    graph = random_graph(50, 600)
    tiles = tile_edges(graph.tail, graph.head, 50, blocks)
    order = tiles.order.long()
    assert order.sort().values.tolist() == list(range(graph.num_edges))
    assert torch.equal(tiles.tail.long(), graph.tail[order])
    assert torch.equal(tiles.head.long(), graph.head[order])
    block = torch.bucketize(torch.arange(50), tiles.first_node[1:-1], right=True)
    tile_of = torch.from_numpy(_tile_of_pairs(blocks))
    tile = torch.bucketize(torch.arange(graph.num_edges), tiles.first_edge[1:-1], right=True)
    assert torch.equal(tile_of[block[graph.tail[order]], block[graph.head[order]]].long(), tile)


def test_edges_with_the_same_tail_are_neighbours_within_a_tile():
    graph = random_graph(50, 600)
    tiles = tile_edges(graph.tail, graph.head, 50, 4)
    bounds = tiles.first_edge.tolist()
    for first, last in itertools.pairwise(bounds):
        assert torch.equal(tiles.tail[first:last], tiles.tail[first:last].sort().values)


@pytest.mark.parametrize(("edges", "blocks"), [(500, 1), (30_000, 4), (900_000, 8)])
def test_the_graph_alone_decides_the_blocks(edges, blocks):
    assert count_blocks(edges) == blocks


def test_chunks_do_not_cross_tiles():
    graph = random_graph(50, 600)
    tiles = tile_edges(graph.tail, graph.head, 50, 4)
    counts = tiles.first_edge.diff().tolist()
    assert tiles.num_chunks(7) == sum(-(-count // 7) for count in counts)
