"""Edges in tiles: the tables of the loops for wide rows (kernels/emp/wide/problem.h)."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.shares import equal_shares
from elasticgnn.kernels.tuning import MANY_BLOCKS_EDGES, ONE_BLOCK_EDGES


class Tiles(NamedTuple):
    """The edges between two blocks of nodes make a tile, and tiles that share no block a round.

    In the last round each block meets itself.
    """

    first_node: Tensor  # (blocks + 1) int64
    first_edge: Tensor  # (tiles + 1) int64
    tail: Tensor  # (m) int32, sorted within a tile
    head: Tensor  # (m) int32
    order: Tensor  # (m) int32: edge e of these tables is the graph's edge order[e]

    def num_chunks(self, edges: int) -> int:
        """How many chunks of so many edges the tiles have, none of which crosses two tiles."""
        return int((-(-self.first_edge.diff() // edges)).sum())


def count_blocks(num_edges: int) -> int:
    """1, 4 or 8: half as many threads can work on tiles at a time.

    A node's row is loaded once for all its edges in a tile, so more
    blocks load more rows.
    """
    return 1 if num_edges < ONE_BLOCK_EDGES else 4 if num_edges < MANY_BLOCKS_EDGES else 8


def tile_edges(tail: Tensor, head: Tensor, num_nodes: int, blocks: int | None = None) -> Tiles:
    """The tiles of edges (tail < head, sorted by tail) for 1 or an even number of blocks."""
    blocks = blocks or count_blocks(len(tail))
    if blocks == 1:
        return _one_tile(tail, head, num_nodes)
    degree = torch.bincount(tail, minlength=num_nodes) + torch.bincount(head, minlength=num_nodes)
    work = (degree + 3).numpy()  # a node costs about as much as three of its slots
    block = equal_shares(work, blocks)
    tile = _tile_of_pairs(blocks)[block[tail.numpy()], block[head.numpy()]]
    order = np.argsort(tile, kind="stable")
    count = np.bincount(tile, minlength=blocks * (blocks + 1) // 2)
    return Tiles(
        torch.from_numpy(np.searchsorted(block, np.arange(blocks + 1))),
        torch.from_numpy(np.concatenate([[0], np.cumsum(count)])),
        tail[order].int(),
        head[order].int(),
        torch.from_numpy(order.astype(np.int32)),
    )


def _one_tile(tail: Tensor, head: Tensor, num_nodes: int) -> Tiles:
    order = torch.arange(len(tail), dtype=torch.int32)
    bounds = torch.tensor([[0, num_nodes], [0, len(tail)]])
    return Tiles(bounds[0], bounds[1], tail.int(), head.int(), order)


def _tile_of_pairs(blocks: int) -> np.ndarray:
    """The tile (blocks, blocks) of each pair: every two meet once, as in a tournament."""
    tile_of, others = np.empty((blocks, blocks), dtype=np.int16), blocks - 1  # none, for one block
    pairs = [
        (others, meeting) if k == 0 else ((meeting + k) % others, (meeting - k) % others)
        for meeting in range(others)
        for k in range(blocks // 2)
    ]
    for tile, (left, right) in enumerate(pairs + [(block, block) for block in range(blocks)]):
        tile_of[left, right] = tile_of[right, left] = tile
    return tile_of
