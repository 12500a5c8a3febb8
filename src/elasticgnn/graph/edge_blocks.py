"""Edges in blocks: the tables of the loops for wide rows (kernels/emp/wide/problem.h)."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticgnn.graph.shares import equal_shares
from elasticgnn.kernels.tuning import EDGES_PER_ADDED_ROW, MOST_BLOCKS, ONE_BLOCK_EDGES


class EdgeBlocks(NamedTuple):
    """Edges whose tails are consecutive nodes: one thread takes a block at a time."""

    first_node: Tensor  # (blocks + 1) int64
    first_edge: Tensor  # (blocks + 1) int64
    end_node: Tensor  # (blocks) int64: behind the tails and heads
    tail: Tensor  # (m) int32
    head: Tensor  # (m) int32

    def num_chunks(self, edges: int) -> int:
        """How many chunks of so many edges there are, none of which crosses two blocks."""
        return int((-(-self.first_edge.diff() // edges)).sum())


def count_blocks(num_nodes: int, num_edges: int) -> int:
    """1, 2, 4 or 8: as many threads can add to the sums of both ends.

    Each block has rows of its own for the nodes from its first tail to its last head, up to about
    (blocks - 1) / 2 more for a node, which must be few beside the edges.
    """
    if num_edges < ONE_BLOCK_EDGES:
        return 1
    blocks = MOST_BLOCKS
    while blocks > 2 and EDGES_PER_ADDED_ROW * num_nodes * (blocks - 1) / 2 > num_edges:
        blocks //= 2
    return blocks


def block_edges(
    tail: Tensor, head: Tensor, num_nodes: int, blocks: int | None = None
) -> EdgeBlocks:
    """The blocks of edges (tail < head, sorted by tail), about equally many in each."""
    blocks = blocks or count_blocks(num_nodes, len(tail))
    share = equal_shares(torch.bincount(tail, minlength=num_nodes).numpy(), blocks)
    first_node = np.searchsorted(share, np.arange(blocks + 1))
    first_node[-1] = num_nodes
    first_edge = torch.searchsorted(tail, torch.from_numpy(first_node))
    end_node = torch.from_numpy(first_node[1:].copy())
    for block, (low, high) in enumerate(pairwise(first_edge.tolist())):
        if low < high:
            end_node[block] = max(int(end_node[block]), int(head[low:high].max()) + 1)
    return EdgeBlocks(torch.from_numpy(first_node), first_edge, end_node, tail.int(), head.int())
