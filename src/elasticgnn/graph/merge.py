"""From any list of edges to the canonical one: each undirected edge once, tail < head, sorted."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.keys import pair_keys, pairs_of
from elasticgnn.graph.once import all_numbers, is_traced, is_wrapped
from elasticgnn.kernels import native

compiled: Any = native  # not None where `serves_addresses`


class Edges(NamedTuple):
    """Undirected edges: lower end, upper end and weight of each."""

    tail: Tensor  # (m,) int64
    head: Tensor  # (m,) int64
    weight: Tensor  # (m,)


class EdgePattern(NamedTuple):
    """Which canonical edge each column of an edge list belongs to: of its structure alone."""

    tail: Tensor  # (m,) int64
    head: Tensor  # (m,) int64
    keep: Tensor | None  # (E,) bool: the columns that are no self-loops; None if all are
    slot: Tensor  # (kept,) int64: the edge of each kept column
    forward: Tensor  # (kept,) bool: from the lower node to the higher
    counts: Tensor  # (2, m) float64: the columns against and along each edge's direction
    is_simple: bool  # every edge has one column in each direction

    def totals(self, weight: Tensor) -> Tensor:
        """Sums (2, m) of weights (E,) against and along each edge's direction."""
        weight = weight if self.keep is None else weight[self.keep]
        return _sums(weight, self.slot, self.forward, len(self.tail))


def merge_edges(
    edge_index: Tensor,
    weight: Tensor | None,
    num_nodes: int,
    undirected: bool,
    directed: str = "error",
) -> Edges:
    """Canonical edges: self-loops dropped, parallel edges added up; differentiable in `weight`.

    Without weights every column weighs 1.
    """
    pattern = edge_pattern(edge_index, num_nodes)
    return Edges(pattern.tail, pattern.head, merged_weight(pattern, weight, undirected, directed))


def edge_pattern(edge_index: Tensor, num_nodes: int) -> EdgePattern:
    """The canonical edges of a list, and where its columns go."""
    source, target = edge_index[0].long().contiguous(), edge_index[1].long().contiguous()
    if serves_addresses(source):
        return _counted_pattern(source, target, num_nodes)
    keep = None
    if bool((source == target).any()):
        keep = source != target
        source, target = source[keep], target[keep]
    low, high = torch.minimum(source, target), torch.maximum(source, target)
    key, slot = torch.unique(pair_keys(low, high, num_nodes), return_inverse=True)
    forward = source < target
    ones = torch.ones(len(source), dtype=torch.float64, device=source.device)
    counts = _sums(ones, slot, forward, len(key))
    is_simple = bool((counts == 1).all())
    return EdgePattern(*pairs_of(key, num_nodes), keep, slot, forward, counts, is_simple)


def _counted_pattern(source: Tensor, target: Tensor, num_nodes: int) -> EdgePattern:
    """The same by the compiled loops, which sort by counting."""
    length = len(source)
    tables = torch.empty(3, length, dtype=torch.int64)
    counts = torch.empty(2, length, dtype=torch.float64)
    out = (tables[0], tables[1], counts[0], counts[1], tables[2])
    ends = (source.data_ptr(), target.data_ptr())
    edges, loops, is_simple = compiled.merge_columns(
        num_nodes, length, ends, [part.data_ptr() for part in out]
    )
    tail, head = tables[:2, :edges].clone().unbind(0)
    slot, forward, keep = tables[2], source < target, None
    if loops:
        keep = slot >= 0
        slot, forward = slot[keep], forward[keep]
    return EdgePattern(tail, head, keep, slot, forward, counts[:, :edges], bool(is_simple))


def _sums(weight: Tensor, slot: Tensor, forward: Tensor, count: int) -> Tensor:
    place = slot + count * forward.long()
    return weight.new_zeros(2 * count).index_add(0, place, weight).view(2, count)


def merged_weight(
    pattern: EdgePattern,
    weight: Tensor | None,
    undirected: bool = False,
    directed: str = "error",
) -> Tensor:
    """The weight (m,) of each canonical edge from those of the columns (E,), or from ones.

    `undirected`: each column is one edge. Else both directions must agree, or with
    directed="symmetrize" an edge gets the mean over the directions that are there.
    """
    if undirected:
        _refuse_both_directions(pattern)
    elif weight is None and pattern.is_simple:
        return torch.ones_like(pattern.tail, dtype=torch.float64)
    totals = pattern.counts if weight is None else pattern.totals(weight)
    if undirected:
        return totals.sum(0)
    if directed == "symmetrize":
        return totals.sum(0) / (pattern.counts > 0).sum(0)
    _refuse_one_direction(pattern, totals.detach())
    return totals.sum(0) / 2


def _refuse_both_directions(pattern: EdgePattern) -> None:
    # A list with both directions of every edge, read as undirected, would double every weight.
    if len(pattern.tail) and bool((pattern.counts > 0).all()):
        raise ValueError(
            "undirected must be False for an edge_index that holds both directions of every edge, "
            "got True (each edge would count twice)"
        )


def _refuse_one_direction(pattern: EdgePattern, totals: Tensor) -> None:
    backward, forward = totals
    # Sums of the same numbers in another order may differ in the last bits.
    slack = 64 * torch.finfo(totals.dtype).eps
    apart = (forward - backward).abs() > slack * torch.maximum(forward, backward)
    wrong = apart | ~(pattern.counts > 0).all(0)
    if bool(all_numbers(wrong).any()):
        raise ValueError(
            "edge_index must hold both directions of every edge with equal weights, got "
            f"{_first_wrong(pattern, totals, wrong)}; torch_geometric.utils.to_undirected adds "
            "what is missing, layers and Graph.from_edge_index take directed='symmetrize', and the "
            "latter takes one column per edge with undirected=True"
        )


def _first_wrong(pattern: EdgePattern, totals: Tensor, wrong: Tensor) -> str:
    if is_wrapped(wrong):
        return "others in some member of the batch"
    first = int(wrong.nonzero()[0])
    i, j = int(pattern.tail[first]), int(pattern.head[first])
    backward, forward = totals[:, first].tolist()
    return f"{forward:g} for ({i}, {j}) and {backward:g} for ({j}, {i})"


def serves_addresses(table: Tensor) -> bool:
    """Whether compiled loops may read a table where it lies: nothing watches, nothing wraps it."""
    return native is not None and type(table) is Tensor and table.is_cpu and not is_traced()
