"""A graph under attack: its 0/1 adjacency, degrees, and which pairs were flipped already."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from elasticgnn.attack.constraints import Constraints, DegreeTest, PowerLaw
from elasticgnn.graph import Graph

Pairs = NDArray[np.int64]


class Flippable:
    """Grows a list of flipped pairs; no pair is ever flipped twice.

    Pairs are kept as keys `tail * n + head` with tail < head, sorted, so that "is this an edge" is
    a binary search and rebuilding the adjacency is one concatenation.
    """

    def __init__(self, graph: Graph, constraints: Constraints) -> None:
        if bool((graph.weight != 1).any()):
            raise ValueError("graph must be unweighted to be attacked by flips, got other weights")
        self.num_nodes = graph.num_nodes
        self.constraints = constraints
        tail, head = graph.tail.numpy(), graph.head.numpy()
        self.keys = np.sort(tail * np.int64(self.num_nodes) + head)
        ends = np.concatenate((tail, head))
        self.degree: NDArray[np.int64] = np.bincount(ends, minlength=self.num_nodes)
        self.flipped: list[tuple[int, int]] = []
        self.used = set[tuple[int, int]]()
        threshold = constraints.degree_test
        self.node_budget = constraints.node_budget(self.degree)
        self.test = None if threshold is None else DegreeTest(PowerLaw.of(self.degree), threshold)

    def adjacency(self, dtype: str) -> csr_array:
        """Both directions of every edge, ones."""
        tail, head = np.divmod(self.keys, self.num_nodes)
        row, column = np.concatenate((tail, head)), np.concatenate((head, tail))
        shape = (self.num_nodes, self.num_nodes)
        return csr_array((np.ones(row.size, dtype), (row, column)), shape=shape)

    def is_edge(self, pairs: Pairs) -> NDArray[np.bool_]:
        """(k,) for rows (tail, head) with tail < head."""
        keys = pairs[:, 0] * self.num_nodes + pairs[:, 1]
        place = np.searchsorted(self.keys, keys)
        found = np.zeros(len(keys), bool)
        inside = place < self.keys.size
        found[inside] = self.keys[place[inside]] == keys[inside]
        return found

    def may_flip(self, tail: int, head: int) -> bool:
        """Whether the constraints allow this pair now."""
        if (tail, head) in self.used:
            return False
        edge = bool(self.is_edge(np.array([[tail, head]]))[0])
        ends = self.degree[[tail, head]]
        if edge and self.constraints.keep_last_edge and ends.min() <= 1:
            return False
        if self.node_budget is not None and self.node_budget[[tail, head]].min() < 1:
            return False
        if self.test is None:
            return True
        step = -1 if edge else 1
        return bool(self.test.allows(self.degree, ends[:1], ends[1:], step)[0, 0])

    def flip_allowed(self, pairs: Iterable[tuple[int, int]], upto: int) -> None:
        """Flips those that are allowed, one after the other, until `upto` are flipped in all."""
        for tail, head in pairs:
            if len(self.flipped) >= upto:
                return
            if self.may_flip(tail, head):
                self.flip(tail, head)

    def pairs(self) -> Tensor:
        """The flips so far (k, 2), in order."""
        return torch.tensor(self.flipped, dtype=torch.int64).reshape(-1, 2)

    def flip(self, tail: int, head: int) -> None:
        """Adds the edge or takes it away."""
        key = tail * self.num_nodes + head
        place = int(np.searchsorted(self.keys, key))
        edge = place < self.keys.size and self.keys[place] == key
        self.keys = np.delete(self.keys, place) if edge else np.insert(self.keys, place, key)
        self.degree[[tail, head]] += -1 if edge else 1
        if self.node_budget is not None:
            self.node_budget[[tail, head]] -= 1
        self.flipped.append((tail, head))
        self.used.add((tail, head))
