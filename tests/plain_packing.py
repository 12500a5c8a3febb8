"""The tables of the packed loops in numpy: what kernels/graph/packing.h is compared with."""

import numpy as np
import torch

from elasticgnn.graph.clustering import cluster_nodes
from elasticgnn.graph.packing import ROW_FLOATS, PackedSlots
from elasticgnn.graph.shares import equal_shares
from elasticgnn.kernels import native, tuning


def pack_slots(first, other, edge_of, rows):
    """The slots first[i] .. first[i + 1] - 1 of every node i, `rows` of them to a register."""
    order, share = _order(first, other, rows)
    degree = np.diff(first.numpy())[order]
    part = _places_in_runs(share) % share  # which part of a shared register is the node's
    taken = np.where(share > 1, part == 0, -(-degree // rows))
    group = np.concatenate([[0], np.cumsum(taken)])
    group[:-1] -= part > 0
    owner = np.repeat(np.arange(len(order)), taken)
    mates = share[owner]
    column = (owner[:, None] + np.arange(rows) * mates[:, None] // rows).ravel()
    edge = np.full(len(column), -1)
    node = np.repeat(np.arange(len(order)), degree)
    offset = np.arange(len(node)) - np.repeat(np.cumsum(degree) - degree, degree)
    slot = first.numpy()[order][node] + offset
    place = (group[node] * share[node] + part[node]) * (rows // share[node]) + offset
    column[place] = np.argsort(order)[other.numpy()[slot]]
    edge[place] = edge_of.numpy()[slot]
    chunk = _chunks(group, share)
    floats = ROW_FLOATS[rows]
    tables = (chunk, share[chunk[:-1]], group, column * floats, owner * floats, edge, order)
    return PackedSlots(*(torch.from_numpy(table.astype(np.int32)) for table in tables))


def _order(first, other, rows):
    """The nodes in the loops' order, and how many share a register with each.

    The given order while the node rows fit a core's cache, else neighbours near one another; then
    sorted within windows by the number of registers, so that the loops' ends can be foreseen. Of
    nodes with as many, those that other threads read lie together, on few lines of the caches.
    """
    n = len(first) - 1
    order = np.arange(n)
    if 8 * n * ROW_FLOATS[rows] * 4 > native.tuning.cache_bytes:
        order = cluster_nodes(first, other).numpy()
    degree = np.diff(first.numpy())[order]
    window = windows(np.where(degree > rows // 2, -(-degree // rows) * rows, degree))
    share = np.ones(n, dtype=np.int64)
    for count in (1, 2):
        mates = np.flatnonzero(degree == count)
        if rows // count < 2:
            continue
        place = _places_in_runs(window[mates])
        size = np.bincount(window[mates])[window[mates]]
        whole = place < size - size % (rows // count)  # the rest of a window has its own
        share[mates[whole]] = rows // count
    reach = reach_of(first.numpy(), other.numpy(), order, window)
    rank = np.lexsort((-reach, -(-degree // rows), -share, window))
    return order[rank], share[rank]


def windows(work):
    """The window of each node: equal work in all; halves, quarters... of them are what as many
    threads will have."""
    return equal_shares(work, 1 << (len(work) // tuning.PACKED_WINDOW).bit_length())


def reach_of(first, other, order, window):
    """How far the neighbours are of each node, in this order: 0 in its window, 1 in its pair of
    windows, 2 in its four..."""
    degree = np.diff(first)
    home = np.empty(len(order), dtype=np.int64)
    home[order] = window
    apart = np.repeat(home, degree) ^ home[other]  # its highest bit tells which halves they share
    farthest = np.zeros(len(order), dtype=np.int64)
    has_slots = degree > 0
    if has_slots.any():
        farthest[has_slots] = np.maximum.reduceat(apart, first[:-1][has_slots])
    return np.frexp(farthest[order])[1]


def _places_in_runs(labels):
    """For each entry its place in the run of equal labels that it belongs to."""
    n = len(labels)
    starts = np.flatnonzero(np.diff(labels, prepend=labels[:1] - 1))
    return np.arange(n) - np.repeat(starts, np.diff(starts, append=n))


def _chunks(group, share):
    """Bounds of runs of nodes of one kind: so many registers, and where `share` changes."""
    cuts = np.searchsorted(group, np.arange(0, group[-1], tuning.PACKED_CHUNK))
    changes = np.flatnonzero(np.diff(share)) + 1
    return np.unique(np.concatenate([[0], cuts, changes, [len(group) - 1]]))
