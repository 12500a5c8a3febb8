"""Edges in tiles: the tables of the loops for node rows that are larger than the caches."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.shares import equal_shares


class Tiles(NamedTuple):
    """The edges between two blocks of nodes make a tile, and tiles that share no block a round.

    In the last round each block meets itself.
    """

    first_node: Tensor  # (blocks + 1) int64
    first_edge: Tensor  # (tiles + 1) int64
    tail: Tensor  # (m) int32, sorted within a tile
    head: Tensor  # (m) int32
    order: Tensor  # (m) int32: edge e of these tables is the graph's edge order[e]


def worthwhile_tiles(tail: Tensor, head: Tensor, num_nodes: int, blocks: int) -> Tiles | None:
    """The tiles, or None where two blocks have few edges or neighbours are near one another anyway.

    A tile's rows must be used several times while they are near.
    """
    if len(tail) < blocks * num_nodes:
        return None
    tiles = tile_edges(tail, head, num_nodes, blocks)
    within_blocks = len(tail) - int(tiles.first_edge[-1 - blocks])
    return tiles if within_blocks <= len(tail) // 2 else None


def tile_edges(tail: Tensor, head: Tensor, num_nodes: int, blocks: int) -> Tiles:
    """The tiles of edges (tail < head, sorted by tail) for an even number of blocks of nodes."""
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


def _tile_of_pairs(blocks: int) -> np.ndarray:
    """The tile (blocks, blocks) of each pair: every two meet once, as in a tournament."""
    tile_of, others = np.empty((blocks, blocks), dtype=np.int16), blocks - 1
    pairs = [
        (others, turn) if k == 0 else ((turn + k) % others, (turn - k) % others)
        for turn in range(others)
        for k in range(blocks // 2)
    ]
    for tile, (left, right) in enumerate(pairs + [(block, block) for block in range(blocks)]):
        tile_of[left, right] = tile_of[right, left] = tile
    return tile_of
