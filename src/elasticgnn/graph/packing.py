"""Slots in whole registers: the tables of the packed loops (kernels/emp_packed.h)."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elasticgnn.kernels import native

loops: Any = native  # not None where slots are packed

CHUNK = 128  # registers; their dual rows stay in the nearest cache between two visits
NEAR = 1 << 19  # bytes of node rows that a core's own cache holds beside the rest


class PackedSlots(NamedTuple):
    """Every node's slots, filled up to whole registers with the node itself (all int32)."""

    chunk: Tensor  # (chunks + 1): first node of runs of nodes with about CHUNK registers
    group: Tensor  # (n + 1): first register of each node
    column: Tensor  # (registers * rows): the other end of each slot
    owner: Tensor  # (registers): the node
    edge: Tensor  # (registers * rows): the slot's edge, -1 where it only fills up
    order: Tensor  # (n): node i of these tables is the graph's node order[i]


def pack_slots(first: Tensor, other: Tensor, edge_of: Tensor, rows: int) -> PackedSlots:
    """The slots first[i] .. first[i + 1] - 1 of every node i, `rows` of them to a register."""
    order = _order(first, other, rows)
    rank = np.argsort(order)
    start, degree = first.numpy(), np.diff(first.numpy())[order]
    n = len(order)
    group = np.concatenate([[0], np.cumsum(-(-degree // rows))])
    owner = np.repeat(np.arange(n), np.diff(group))
    column = np.repeat(owner, rows)
    edge = np.full(len(column), -1)
    node = np.repeat(np.arange(n), degree)
    offset = np.arange(len(node)) - np.repeat(np.cumsum(degree) - degree, degree)
    slot = start[order][node] + offset
    place = group[node] * rows + offset
    column[place] = rank[other.numpy()[slot]]
    edge[place] = edge_of.numpy()[slot]
    tables = (_chunks(group), group, column, owner, edge, order)
    return PackedSlots(*(torch.from_numpy(table.astype(np.int32)) for table in tables))


def _order(first: Tensor, other: Tensor, rows: int) -> np.ndarray:
    """The given order while the node rows fit a core's cache, else neighbours near one another."""
    n = len(first) - 1
    order = np.arange(n)
    if n * (16 // rows) * 4 > NEAR:
        loops.cluster_order(n, first.data_ptr(), other.data_ptr(), order.ctypes.data)
    return order


def _chunks(group: np.ndarray) -> np.ndarray:
    """Bounds of runs of nodes: a new one begins with the first node at or after every CHUNK."""
    cuts = np.searchsorted(group, np.arange(0, group[-1], CHUNK))
    return np.unique(np.concatenate([[0], cuts, [len(group) - 1]]))
