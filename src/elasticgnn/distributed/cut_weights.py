"""Weights of cut edges: both sides must give the same, or the two copies of a dual would part."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.distributed.agreement import global_rank
from elasticgnn.distributed.exchange import HaloExchange
from elasticgnn.distributed.local import LocalEdges
from elasticgnn.distributed.transport import talking


def check_cut_weights(weight: Tensor, local: LocalEdges, exchange: HaloExchange) -> None:
    """Refuses weights (k,) of which another process has others for the same edges."""
    values = weight.detach().double()
    boxes: list[tuple[int, NDArray[Any], Tensor, Tensor]] = []
    work: list[Any] = []
    for q, edges in cut_edges(local).items():
        own = values[torch.from_numpy(edges)]
        boxes.append((q, edges, own, torch.empty_like(own)))
        peer = global_rank(q, exchange.group)
        with talking():
            work.append(dist.irecv(boxes[-1][3], peer, exchange.group))
            work.append(dist.isend(own, peer, exchange.group))
    with talking():
        for one in work:
            one.wait()
    for q, edges, own, theirs in boxes:
        apart = np.flatnonzero((own != theirs).numpy())
        if len(apart):
            first = int(apart[0])
            low, high = sorted(local.nodes[end] for end in ends_of(local, edges[first]))
            raise ValueError(
                f"weight must be equal on both sides of a cut, got {float(own[first])} for edge "
                f"({low}, {high}) here and {float(theirs[first])} in process {q}"
            )


def cut_edges(local: LocalEdges) -> dict[int, NDArray[np.int64]]:
    """Edges to each other process, in global order: the same list on both sides."""
    cut = np.flatnonzero(local.other >= local.owned)
    lead, other = (local.nodes[rows] for rows in ends_of(local, cut))
    cut = cut[np.lexsort((np.maximum(lead, other), np.minimum(lead, other)))]
    rank = local.halo_rank[local.other[cut] - local.owned]
    return {int(q): cut[rank == q] for q in np.unique(rank)}


def ends_of(local: LocalEdges, edges: Any) -> tuple[Any, Any]:
    """Rows of both ends of edges."""
    return np.searchsorted(local.lead, edges, side="right") - 1, local.other[edges]
