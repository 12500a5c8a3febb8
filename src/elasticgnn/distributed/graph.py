"""A graph that several processes hold together, each its own parts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.distributed.agreement import check_same
from elasticgnn.distributed.cut_weights import check_cut_weights
from elasticgnn.distributed.exchange import HaloExchange
from elasticgnn.distributed.local import LocalEdges, build_local
from elasticgnn.distributed.part import Part, cut_parts, ranks_of_parts
from elasticgnn.distributed.shared_boxes import share_boxes
from elasticgnn.distributed.transport import talking
from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.operator.request import Request

N = TypeVar("N", int, float)


@dataclass(frozen=True, eq=False)
class DistributedGraph:
    """This process's parts of a graph; the others hold the rest.

    Outside, nodes are rows in the order of `nodes` (global ids: part after part, ascending in each)
    and edges are rows in the order of `edges`. What is local stays inside.

    >>> from elasticgnn.distributed import DistributedGraph, partition
    >>> alone = DistributedGraph.from_graph(chain, partition(chain, 2))  # all in one process
    >>> alone.num_owned, alone.num_halo
    (4, 0)

    `elastic_message_passing` takes it in the place of a `Graph`. The bits of a row do not depend
    on the number of processes, the partition, or the number of threads.

    >>> from elasticgnn import elastic_message_passing
    >>> elastic_message_passing(x[alone.nodes], alone, ElasticPenalty()).shape
    torch.Size([4, 1])
    """

    num_nodes: int  # of the whole graph
    num_parts: int
    parts: tuple[int, ...]  # numbers of the parts held here
    part_sizes: tuple[int, ...]  # and their nodes
    nodes: Tensor  # (owned,) int64 global ids
    normalization: str
    local: LocalEdges
    exchange: HaloExchange
    weight: Tensor | None  # (edges held here,) float64, or None when all are 1
    degree: Tensor  # (owned + halo,) float64, of the whole graph
    heaviest: int  # rows and edges of the process that has most of them
    rank: int = 0
    processes: int = 1

    @classmethod
    def from_graph(cls, graph: Graph, assignment: Tensor, *, group: Any = None) -> DistributedGraph:
        """This process's share of a graph that every process has whole."""
        parts = list(cut_parts(graph, assignment))
        work = np.array([part.work for part in parts])
        rank, processes = rank_and_processes(group)
        ranks = ranks_of_parts(work, processes)
        own = [part for part in parts if ranks[part.number] == rank]
        of_part = assignment.numpy()
        about = f"{graph.fingerprint} {hashlib.sha256(of_part.tobytes()).hexdigest()}"
        check_same("graph and assignment", about, group)
        return cls.from_parts(
            own,
            lambda nodes: ranks[of_part[nodes]],
            num_nodes=graph.num_nodes,
            num_parts=len(parts),
            normalization=graph.normalization,
            group=group,
        )

    @classmethod
    def from_parts(
        cls,
        parts: Sequence[Part],
        rank_of: Callable[[NDArray[Any]], NDArray[Any]],
        *,
        num_nodes: int,
        num_parts: int,
        normalization: str = "degree",
        group: Any = None,
    ) -> DistributedGraph:
        """The graph of which this process has `parts`; `rank_of` gives the process of nodes."""
        rank, processes = rank_and_processes(group)
        local = build_local(parts, rank_of)
        exchange = make_exchange(local, rank, processes, group)
        weight = None if local.weight is None else torch.from_numpy(local.weight)
        graph = cls(
            num_nodes=num_nodes,
            num_parts=num_parts,
            parts=tuple(part.number for part in parts),
            part_sizes=tuple(len(part) for part in parts),
            nodes=torch.from_numpy(local.nodes[local.place]),
            normalization=normalization,
            local=local,
            exchange=exchange,
            weight=weight,
            degree=torch.empty(0),
            heaviest=largest(len(local.nodes) + local.num_edges, processes, group),
            rank=rank,
            processes=processes,
        )
        return replace(graph, degree=graph.degrees_of(weight))

    @property
    def num_owned(self) -> int:
        """Number of nodes of this process."""
        return self.local.owned

    @property
    def num_halo(self) -> int:
        """Number of nodes of other processes that have neighbours here."""
        return self.exchange.halo

    @property
    def edges(self) -> Tensor:
        """Global ids (lower, higher) of the edges held here (k, 2); cut edges on both sides."""
        ends = [self.local.nodes[rows] for rows in self.edge_ends]
        return torch.from_numpy(np.stack(ends, 1))

    @property
    def leader(self) -> NDArray[Any]:
        """The row that leads each edge."""
        rows: NDArray[Any] = np.repeat(np.arange(self.local.owned), np.diff(self.local.lead))
        return rows

    @property
    def edge_ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows of the lower and the higher global id of each edge."""
        one, two = self.leader, self.local.other
        swapped = self.local.nodes[one] > self.local.nodes[two]
        return np.where(swapped, two, one), np.where(swapped, one, two)

    @property
    def norm_bound(self) -> float:
        """A number that is at least ||L||, the same in every process."""
        if self.normalization == "degree":
            return 2.0
        own = float(self.degree.max()) if len(self.degree) else 0.0
        return 2.0 * largest(own, self.processes, self.exchange.group) or 1.0

    def degrees_of(self, weight: Tensor | None) -> Tensor:
        """Weights added up per node in global edge order, plus the self-loop; halo rows too."""
        local = self.local
        if weight is None:
            total = torch.from_numpy(np.diff(local.start).astype(np.float64))
        else:
            slots = weight.detach().double().numpy()[local.edge]
            total = torch.from_numpy(row_sums(slots, local.start))
        rows = torch.empty(len(local.nodes), dtype=torch.float64)
        rows[: local.owned] = total + float(self.normalization == "degree")
        self.exchange.fill(rows)
        return rows

    def with_weight(self, weight: Tensor) -> DistributedGraph:
        """The same edges with other weights (k,), equal on both sides of a cut."""
        if weight.shape != (self.local.num_edges,) or not weight.is_floating_point():
            raise ValueError(
                f"weight must be ({self.local.num_edges},) floating point, "
                f"got {tuple(weight.shape)} {weight.dtype}"
            )
        good = torch.isfinite(weight) & (weight >= 0)
        if not bool(good.all()):
            raise ValueError(f"weight must be finite and >= 0, got {float(weight[~good][0])}")
        if self.processes > 1:
            check_cut_weights(weight, self.local, self.exchange)
        return replace(self, weight=weight, degree=self.degrees_of(weight))

    def propagate(self, request: Request) -> Tensor:
        """The rows of this process after the steps: the route of `operator/distributed.py`."""
        from elasticgnn.distributed.operator import propagate  # whose loops import this module

        return propagate(self, request)

    def __repr__(self) -> str:
        return (
            f"DistributedGraph(process {self.rank} of {self.processes}: {self.num_owned} of "
            f"{self.num_nodes} nodes in {len(self.parts)} of {self.num_parts} parts, "
            f"{self.local.num_edges} edges, halo {self.num_halo})"
        )


def row_sums(values: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
    """Sums of consecutive rows, entry after entry in each: the same for a row wherever it is."""
    total = np.zeros(len(start) - 1)
    np.add.at(total, np.repeat(np.arange(len(total)), np.diff(start)), values)
    return total


def largest(value: N, processes: int, group: Any) -> N:
    """The largest of the values that the processes have."""
    if processes == 1:
        return value
    found = torch.tensor([value], dtype=torch.float64)
    with talking():
        dist.all_reduce(found, dist.ReduceOp.MAX, group=group)
    return type(value)(found)


def rank_and_processes(group: Any) -> tuple[int, int]:
    """This process's number and how many there are; (0, 1) without a group."""
    if not dist.is_initialized():
        return 0, 1
    return dist.get_rank(group), dist.get_world_size(group)


def make_exchange(local: LocalEdges, rank: int, processes: int, group: Any) -> HaloExchange:
    """Send lists out of the cut edges alone: a boundary row goes to each process next to it."""
    count = np.bincount(local.halo_rank, minlength=processes)
    receive = {q: int(k) for q, k in enumerate(count) if k}
    node = np.repeat(np.arange(local.owned), np.diff(local.start))
    cut = np.flatnonzero(local.column >= local.owned)
    row, peer = node[cut], local.halo_rank[local.column[cut] - local.owned]
    send = {}
    for q in receive:
        rows = np.unique(row[peer == q])
        by_id = rows[np.argsort(local.nodes[rows])]
        send[q] = torch.from_numpy(by_id)
    shared = {} if native is None else share_boxes(receive, rank, group)
    return HaloExchange(local.owned, send, receive, group, shared)
