"""A part of a graph: its nodes with all their neighbours, by global ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.graph import Graph


@dataclass(frozen=True, eq=False)
class Part:
    """Nodes of one part (global ids, ascending), and the neighbours of each in ascending order.

    Node k's neighbours are neighbour[start[k]] .. neighbour[start[k + 1] - 1]; weight belongs to
    them, or is None where all are 1. Global edge order is the order of (lower end, higher end).
    """

    number: int
    nodes: NDArray[np.int64]
    start: NDArray[np.int64]
    neighbour: NDArray[Any]
    weight: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def work(self) -> int:
        """Nodes and neighbours together: what a step costs."""
        return len(self.nodes) + len(self.neighbour)


def cut_parts(graph: Graph, assignment: Tensor) -> Iterator[Part]:
    """The parts that `assignment` (n,) divides the graph into, in their order."""
    check_assignment(assignment, graph.num_nodes)
    slots = graph._slots
    start, column = slots.start.numpy(), slots.column.numpy()
    weight = None
    if not graph.is_unweighted:
        weight = graph.weight.detach().double()[slots.edge.long()].numpy()
    order = torch.argsort(assignment, stable=True).numpy()
    bounds = np.searchsorted(assignment.numpy()[order], np.arange(int(assignment.max()) + 2))
    for number, (first, last) in enumerate(pairwise(bounds)):
        nodes = order[first:last]
        own, positions = rows_of(start, nodes)
        kept = None if weight is None else weight[positions]
        yield Part(number, nodes, own, column[positions], kept)


def rows_of(start: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row starts of the chosen CSR rows, and the positions of their entries in the whole."""
    count = start[rows + 1] - start[rows]
    own = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(count, out=own[1:])
    positions = np.arange(own[-1])
    positions += np.repeat(start[rows] - own[:-1], count)
    return own, positions


def check_assignment(assignment: Tensor, num_nodes: int) -> None:
    """Refuses an assignment of another shape, or one with an empty part."""
    if assignment.shape != (num_nodes,) or assignment.dtype != torch.int32:
        raise ValueError(
            f"assignment must be ({num_nodes},) int32, "
            f"got {tuple(assignment.shape)} {assignment.dtype}"
        )
    if num_nodes and (int(assignment.min()) < 0 or bool((torch.bincount(assignment) == 0).any())):
        raise ValueError("assignment must number the parts from 0 on without a gap, got one")


def ranks_of_parts(work: NDArray[Any], processes: int) -> NDArray[np.int64]:
    """The process of each part: consecutive parts, about equal work, none without a part."""
    if processes > len(work):
        raise ValueError(
            f"parts must be at least as many as the processes ({processes}), got {len(work)}"
        )
    middle = np.cumsum(work) - np.asarray(work) / 2
    ideal = np.minimum((middle * processes / max(1, work.sum())).astype(np.int64), processes - 1)
    number = np.arange(len(work))
    least, most = np.maximum(number - len(work) + processes, 0), np.minimum(number, processes - 1)
    ranks: NDArray[np.int64] = np.clip(ideal, least, most)
    return np.minimum(np.maximum.accumulate(ranks), most)
