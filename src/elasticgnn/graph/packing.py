"""Slots in whole registers: the tables of the packed loops (kernels/emp/packed/problem.h)."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.clustering import cluster_nodes
from elasticgnn.kernels import native, tuning

ROW_FLOATS = {4: 4, 3: 8, 2: 8, 1: 16}  # of a node's row, by how many share a register
loops: Any = native  # not None where these functions are called


class PackedSlots(NamedTuple):
    """Every node's slots, filled up to whole registers with the node itself (all int32).

    Nodes with one slot (or two, where a register has four) share registers, each with its part.
    """

    chunk: Tensor  # (chunks + 1): first node of runs of nodes with about PACKED_CHUNK registers
    share: Tensor  # (chunks): how many of its nodes share a register
    group: Tensor  # (n + 1): first register of each node
    column: Tensor  # (registers * rows): where the row of a slot's other end begins, in floats
    owner: Tensor  # (registers): the same of the node, or of the first of those that share
    edge: Tensor  # (registers * rows): the slot's edge, -1 where it only fills up
    order: Tensor  # (n): node i of these tables is the graph's node order[i]


def pack_slots(first: Tensor, other: Tensor, edge_of: Tensor, rows: int) -> PackedSlots:
    """The slots first[i] .. first[i + 1] - 1 of every node i, `rows` of them to a register.

    Nodes keep the given order while their rows fit a core's cache, else neighbours lie near one
    another; then they are sorted within windows of equal work by the number of their registers.
    Halves, quarters... of the windows are what as many threads will have.
    """
    n = len(first) - 1
    reordered = tuning.REORDER_SHARE * n * ROW_FLOATS[rows] * 4 > loops.tuning.cache_bytes
    begin = cluster_nodes(first, other) if reordered else torch.arange(n)
    given = [table.data_ptr() for table in (first, other, edge_of, begin)]
    limits = (1 << (n // tuning.PACKED_WINDOW).bit_length(), tuning.PACKED_CHUNK)
    order, group = torch.empty(2, n + 1, dtype=torch.int32)
    share, part, chunk, chunk_share = torch.empty(4, n + 1, dtype=torch.int32)
    nodes = (order, share, group, part, chunk, chunk_share)
    addresses = [table.data_ptr() for table in nodes]
    registers, chunks = loops.order_packed(n, rows, given, limits, addresses)
    column, edge = torch.empty(2, registers * rows, dtype=torch.int32)
    owner = torch.empty(registers, dtype=torch.int32)
    slots = [table.data_ptr() for table in (column, owner, edge)]
    loops.fill_packed(n, rows, given, addresses, ROW_FLOATS[rows], slots)
    chunk, chunk_share = chunk[: chunks + 1].clone(), chunk_share[:chunks].clone()
    return PackedSlots(chunk, chunk_share, group, column, owner, edge, order[:n])
