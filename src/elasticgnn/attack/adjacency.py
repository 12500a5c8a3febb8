"""A graph under attack: its 0/1 adjacency, degrees, and which pairs were flipped already."""

from collections.abc import Iterable
from typing import Any

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

    Pairs are kept as keys `tail * n + head` with tail < head. Those of the untouched graph stay
    sorted as they are, so that "was this an edge" is a binary search and a flip costs the same on
    any graph; `keys` puts both together when it is asked for.
    """

    def __init__(self, graph: Graph, constraints: Constraints) -> None:
        if bool((graph.weight != 1).any()):
            low, high = float(graph.weight.min()), float(graph.weight.max())
            raise ValueError(
                f"graph must be unweighted to be attacked by flips, got weights {low:g} to {high:g}"
            )
        self.num_nodes = graph.num_nodes
        self.constraints = constraints
        tail, head = graph.tail.numpy(), graph.head.numpy()
        self.original = np.sort(tail * np.int64(self.num_nodes) + head)
        ends = np.concatenate((tail, head))
        self.degree: NDArray[np.int64] = np.bincount(ends, minlength=self.num_nodes)
        self.flipped: list[tuple[int, int]] = []
        self.used = set[int]()
        threshold = constraints.degree_test
        self.node_budget = constraints.node_budget(self.degree)
        self.test = None if threshold is None else DegreeTest(PowerLaw.of(self.degree), threshold)

    @property
    def keys(self) -> Pairs:
        """The keys of the edges as they are now (m,), ascending."""
        return np.setxor1d(self.original, self.key(*self.pairs().numpy().T), assume_unique=True)

    def adjacency(self, dtype: str) -> csr_array:
        """Both directions of every edge, ones."""
        tail, head = np.divmod(self.keys, self.num_nodes)
        row, column = np.concatenate((tail, head)), np.concatenate((head, tail))
        shape = (self.num_nodes, self.num_nodes)
        return csr_array((np.ones(row.size, dtype), (row, column)), shape=shape)

    def key(self, tail: Any, head: Any) -> Any:
        """The key of a pair, or of each of many."""
        return tail * self.num_nodes + head

    def was_edge(self, key: int) -> bool:
        """Whether the untouched graph has the edge."""
        place = int(self.original.searchsorted(key))
        return place < self.original.size and bool(self.original[place] == key)

    def may_flip(self, tail: int, head: int) -> bool:
        """Whether the constraints allow this pair now."""
        key = self.key(tail, head)
        if key in self.used:
            return False
        edge = self.was_edge(key)  # and is: it has not been flipped
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
        key = self.key(tail, head)
        if key in self.used:
            raise ValueError(f"pairs must be flipped once at most, got {tail}, {head} again")
        self.degree[[tail, head]] += -1 if self.was_edge(key) else 1
        if self.node_budget is not None:
            self.node_budget[[tail, head]] -= 1
        self.flipped.append((tail, head))
        self.used.add(key)
