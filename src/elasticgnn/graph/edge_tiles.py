"""Edges in tiles: the tables of the loops for wide rows (kernels/emp/wide/problem.h)."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.shares import equal_shares
from elasticgnn.kernels import tuning


class EdgeTiles(NamedTuple):
    """Edges by the blocks of their two ends; no two tiles of a round share a block."""

    first_tile: Tensor  # (rounds + 1) int64
    first_edge: Tensor  # (tiles + 1) int64
    tail: Tensor  # (m) int32, in the order of the tiles
    head: Tensor  # (m) int32
    edge: Tensor  # (m) int32: each edge's number in the graph

    def num_chunks(self, edges: int) -> int:
        """How many chunks of so many edges there are, none of which crosses two tiles."""
        return int((-(-self.first_edge.diff() // edges)).sum())


def count_blocks(num_nodes: int, num_edges: int) -> int:
    """2, 4, 8 or 16 blocks of nodes: half as many threads can add to the sums of both ends.

    Each round visits the rows of all nodes once more, which must be few visits beside the edges.
    """
    if num_edges < tuning.ONE_TILE_EDGES:
        return 2
    blocks = tuning.MOST_BLOCKS
    while blocks > 4 and tuning.EDGES_PER_VISIT * num_nodes * blocks / 2 > num_edges:
        blocks //= 2
    return blocks


def tile_edges(tail: Tensor, head: Tensor, num_nodes: int, blocks: int | None = None) -> EdgeTiles:
    """The tiles of edges (tail < head, sorted by tail).

    Blocks a and b meet in the round of a xor b. That of 1 comes last and has the edges within a
    block too: by then all other edges are done, and the nodes end in their order.
    """
    blocks = blocks or count_blocks(num_nodes, len(tail))
    block = _blocks_of_nodes(tail, head, num_nodes, blocks)
    low, high = block[tail], block[head]
    distance = torch.clamp(low ^ high, min=1)
    number = (blocks - 1 - distance) * blocks + torch.where(distance > 1, low, low & ~1)
    order = torch.argsort(number, stable=True)
    tiles, counts = torch.unique_consecutive(number[order], return_counts=True)
    first_edge = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    first_tile = torch.searchsorted(tiles, blocks * torch.arange(blocks))
    tables = (tail[order].int(), head[order].int(), order.int())
    return EdgeTiles(first_tile, first_edge, *tables)


def _blocks_of_nodes(tail: Tensor, head: Tensor, num_nodes: int, blocks: int) -> Tensor:
    """Consecutive nodes in blocks of about equal work, of edges and of the nodes that have any."""
    degree = torch.bincount(tail, minlength=num_nodes) + torch.bincount(head, minlength=num_nodes)
    work = degree + tuning.ENDS_PER_NODE * (degree > 0)
    share = equal_shares(work.numpy(), blocks)
    return torch.from_numpy(np.minimum(share, blocks - 1))
