"""Sums over all parts in the order of the parts: the number of processes leaves no trace."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.distributed.agreement import global_rank
from elasticgnn.distributed.graph import DistributedGraph, row_sums
from elasticgnn.distributed.transport import talking


def sum_over_parts(own: Tensor, graph: DistributedGraph) -> Tensor:
    """((p0 + p1) + p2) + ... over the rows of all parts (k,), of which `own` (parts here, k).

    The running sum passes from process to process, which hold consecutive parts; all get the end.
    """
    group = graph.exchange.group
    total = own.new_zeros(own.shape[1:])
    if graph.rank > 0:
        with talking():
            dist.recv(total, global_rank(graph.rank - 1, group), group=group)
    for row in own:
        total = total + row
    if graph.processes == 1:
        return total
    with talking():
        if graph.rank + 1 < graph.processes:
            dist.send(total, global_rank(graph.rank + 1, group), group=group)
        dist.broadcast(total, global_rank(graph.processes - 1, group), group=group)
    return total


def sum_nodes(values: NDArray[np.float64], graph: DistributedGraph) -> NDArray[np.float64]:
    """Values of owned rows added up per part held here, in ascending global id."""
    bounds = np.concatenate([[0], np.cumsum(graph.part_sizes)])
    return row_sums(values[graph.local.place], bounds)


def sum_edges(values: NDArray[np.float64], graph: DistributedGraph) -> NDArray[np.float64]:
    """Values of edges added up per part held here, in global order; the lower end's part counts."""
    order, bounds = counted_edges(graph)
    return row_sums(values[order], bounds)


def counted_edges(graph: DistributedGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges whose lower end is owned, by part and global order, and where each part begins."""
    local, leader = graph.local, graph.leader
    one, two = local.nodes[leader], local.nodes[local.other]
    tail = np.where(one < two, leader, local.other)
    counted = np.flatnonzero(tail < local.owned)
    part = np.empty(local.owned, dtype=np.int64)
    part[local.place] = np.repeat(np.arange(len(graph.parts)), graph.part_sizes)
    low, high = np.minimum(one, two)[counted], np.maximum(one, two)[counted]
    order = counted[np.lexsort((high, low, part[tail[counted]]))]
    return order, np.searchsorted(part[tail[order]], np.arange(len(graph.parts) + 1))


def sum_scalars(own: NDArray[np.float64], graph: DistributedGraph) -> Tensor:
    """The sum over all parts of one number each, of which `own` are those held here."""
    return sum_over_parts(torch.from_numpy(own)[:, None], graph)[0]
