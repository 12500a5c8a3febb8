"""A graph with some pairs flipped in part: the object that gradient attacks differentiate."""

from dataclasses import dataclass

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.keys import edge_keys, pair_keys, pairs_of
from elasticgnn.graph.merge import Edges


def key_pairs(keys: Tensor, num_nodes: int) -> Tensor:
    """The pairs (k, 2) of their keys."""
    return torch.stack(pairs_of(keys, num_nodes), dim=1)


@dataclass(frozen=True)
class Block:
    """The pairs that an attack may flip just now, laid over a graph.

    `keys` (b,) ascend; `union` (u,) are the graph's edges and the block together; `place` says
    where each pair of the block stands there; `sign` is +1 for a pair to join, -1 for an edge.
    """

    graph: Graph
    keys: Tensor
    union: Tensor
    place: Tensor
    base: Tensor
    sign: Tensor

    @classmethod
    def over(cls, graph: Graph, keys: Tensor) -> "Block":
        """The block of the pairs `keys` beside the edges that the graph has."""
        present = edge_keys(graph)
        union = torch.unique(torch.cat((present, keys)))
        base = torch.zeros(len(union), dtype=graph.weight.dtype)
        base[torch.searchsorted(union, present)] = graph.weight
        place = torch.searchsorted(union, keys)
        return cls(graph, keys, union, place, base, 1 - 2 * base[place])

    def relax(self, flipped: Tensor) -> Graph:
        """The graph with pair k flipped by the share `flipped[k]`; differentiable in it.

        An edge is left with weight 1 - share, another pair gets weight share.
        """
        change = torch.zeros_like(self.base).index_add(0, self.place, self.sign * flipped)
        # rounding of 1 - share must not leave the weights' range
        weight = (self.base + change).clamp(min=0)
        size = self.graph.num_nodes
        edges = Edges(*pairs_of(self.union, size), weight)
        return Graph(edges, size, normalization=self.graph.normalization)


def random_keys(
    num_nodes: int, count: int, generator: torch.Generator, ends: Tensor | None = None
) -> Tensor:
    """About `count` different pairs, uniformly drawn, as ascending keys.

    With `ends` one end of every pair is among these nodes. At most half again too many pairs are
    drawn to make up for repetitions; all pairs are returned where `count` reaches their number.
    """
    if ends is None and count >= num_nodes * (num_nodes - 1) // 2:
        tail, head = torch.triu_indices(num_nodes, num_nodes, 1)
        return pair_keys(tail, head, num_nodes)
    draws = count + count // 2 + 8
    one = torch.randint(num_nodes, (draws,), generator=generator)
    if ends is not None:
        one = ends[torch.randint(len(ends), (draws,), generator=generator)]
    other = torch.randint(num_nodes - 1, (draws,), generator=generator)
    other = other + (other >= one)
    low, high = torch.minimum(one, other), torch.maximum(one, other)
    keys = torch.unique(pair_keys(low, high, num_nodes))
    if len(keys) <= count:
        return keys
    kept = torch.randperm(len(keys), generator=generator)[:count]
    return keys[kept].sort().values
