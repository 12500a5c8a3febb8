"""Random flips that keep a sparse graph sparse: edges come and go with different chances."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.graph import Graph
from elasticgnn.graph.keys import edge_keys, pairs_of
from elasticgnn.operator.flipped import FlipLists

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class SparseNoise:
    """Every pair flips by itself: a missing edge comes with p_plus, an edge goes with p_minus.

    p_plus + p_minus <= 1, so that a noisy edge speaks for an edge rather than against one.

    >>> from elasticgnn.certify import SparseNoise
    >>> SparseNoise(p_plus=0.001, p_minus=0.4).p_minus
    0.4
    """

    p_plus: float = 0.0001
    p_minus: float = 0.8

    def __post_init__(self) -> None:
        for name in ("p_plus", "p_minus"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        if self.p_plus + self.p_minus > 1:
            total = self.p_plus + self.p_minus
            raise ValueError(f"p_plus + p_minus must be at most 1, got {total:g}")

    def sample(self, graph: Graph, count: int, random: np.random.Generator) -> FlipLists:
        """The flips of `count` noisy graphs."""
        size, edges = graph.num_nodes, edge_keys(graph).numpy()
        lists = [self.sample_one(edges, size, random) for _ in range(count)]
        keys = torch.from_numpy(np.concatenate([*lists, np.zeros(0, np.int64)]))
        pairs = torch.stack(pairs_of(keys, size), 1).int()
        first = torch.tensor([0, *(len(one) for one in lists)]).cumsum(0)
        return FlipLists(pairs.contiguous(), first)

    def sample_one(self, edges: Keys, size: int, random: np.random.Generator) -> Keys:
        """Keys of the pairs that flip: Bernoulli on edges, a binomial number of other pairs."""
        gone = edges[random.random(len(edges)) < self.p_minus]
        others = size * (size - 1) // 2 - len(edges)
        come = random_others(edges, size, int(random.binomial(others, self.p_plus)), random)
        return np.concatenate((gone, come))


def random_others(edges: Keys, size: int, count: int, random: np.random.Generator) -> Keys:
    """`count` different pairs that are no edges (keys, `edges` ascending), uniformly drawn."""
    every = size * (size - 1) // 2
    if 4 * (count + len(edges)) > every:
        tail, head = np.triu_indices(size, 1)
        rest = np.setdiff1d(tail * np.int64(size) + head, edges, assume_unique=True)
        return random.choice(rest, count, replace=False)
    found = np.zeros(0, np.int64)
    while len(found) < count:
        one, other = random.integers(0, size, (2, 2 * (count - len(found)) + 8))
        keys = np.minimum(one, other) * np.int64(size) + np.maximum(one, other)
        keys = keys[one != other]
        place = np.minimum(np.searchsorted(edges, keys), max(len(edges) - 1, 0))
        keys = keys[edges[place] != keys] if len(edges) else keys
        found = np.unique(np.concatenate((found, keys)))
    return random.choice(found, count, replace=False)
