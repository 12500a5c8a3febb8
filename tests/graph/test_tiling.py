"""Tiles: every edge in the one of its two blocks, and no block twice in a round."""

import itertools

import pytest
import torch

from elasticgnn.graph.tiling import _tile_of_pairs, tile_edges, worthwhile_tiles
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
    for turn in range(blocks - 1):
        together = seen[turn * blocks // 2 : (turn + 1) * blocks // 2]
        assert len(set().union(*together)) == blocks


@pytest.mark.parametrize("blocks", [2, 4, 8])
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


def test_few_edges_and_near_neighbours_need_no_tiles():
    dense, sparse = random_graph(50, 600), random_graph(50, 100)
    assert worthwhile_tiles(dense.tail, dense.head, 50, 4) is not None
    assert worthwhile_tiles(sparse.tail, sparse.head, 50, 4) is None
    tail = torch.arange(400).repeat_interleave(5)
    head = tail + torch.arange(1, 6).repeat(400)
    assert worthwhile_tiles(tail, head, 405, 4) is None
