"""Canonical edges of a list on a device, with one synchronisation: all questions in one answer."""

from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.graph.checks import INT32_LIMIT
from elasticgnn.graph.keys import pairs_of
from elasticgnn.graph.merge import Edges

NO_EDGE = torch.iinfo(torch.int64).max  # the key of a self-loop, behind all others


class Built(NamedTuple):
    """Edges in canonical order, the number of nodes, and whether all weigh 1."""

    edges: Edges
    num_nodes: int
    unit: bool


def edges_on_device(
    edge_index: Tensor,
    num_nodes: int | None,
    weight: Tensor | None,
    undirected: bool,
    directed: str = "error",
) -> Built | None:
    """What merge_edges gives; None where something is wrong, which the ordinary way then names.

    Everything is computed for as many edges as there are columns; the answer says how many count.
    """
    columns = edge_index.shape[1]
    well_formed = weight is None or (weight.shape == (columns,) and weight.is_floating_point())
    if columns == 0 or not well_formed or not (num_nodes is None or 0 < num_nodes <= INT32_LIMIT):
        return None
    source, target = edge_index[0].long(), edge_index[1].long()
    low, high = torch.aminmax(edge_index)
    size = high.long() + 1 if num_nodes is None else torch.full_like(high, num_nodes).long()
    lower, upper = torch.minimum(source, target), torch.maximum(source, target)
    key = torch.where(lower == upper, NO_EDGE, lower * size + upper)
    ordered, order = torch.sort(key, stable=True)
    first = torch.cat([torch.ones_like(ordered[:1]), (ordered[1:] != ordered[:-1]).long()])
    first = first * (ordered != NO_EDGE)
    slot = first.cumsum(0) - 1  # of the sorted columns; loops go behind the last edge
    slot = torch.where(ordered == NO_EDGE, columns, slot)
    count = first.sum()
    totals, seen = _direction_sums(source < target, weight, order, slot, columns)
    merged = _merged(totals, seen, undirected, directed)
    pairs = key.new_zeros(columns + 1).scatter(0, torch.where(first > 0, slot, columns), ordered)
    there = torch.arange(columns, device=key.device) < count
    bad = _is_wrong(totals.detach(), seen, there, undirected, directed)
    if weight is not None:
        bad = bad | ~((weight >= 0) & torch.isfinite(weight)).all()
    ones = ((merged.detach() == 1) | ~there).all()
    answer = torch.stack([low.long(), high.long(), count, bad.long(), ones.long(), size])
    least, most, edges, wrong, unit, nodes = answer.tolist()  # the synchronisation
    if wrong or least < 0 or most >= nodes or nodes > INT32_LIMIT:
        return None
    found = Edges(*pairs_of(pairs[:edges], nodes), merged[:edges])
    return Built(found, nodes, bool(unit) and not merged.requires_grad)


def _direction_sums(
    forward: Tensor, weight: Tensor | None, order: Tensor, slot: Tensor, columns: int
) -> tuple[Tensor, Tensor]:
    """Sums of weights (2, E) against and along each edge, and which directions are there."""
    ones = torch.ones(columns, dtype=torch.float64, device=slot.device)
    place = slot + (columns + 1) * forward[order].long()
    each = ones if weight is None else weight[order]
    # on a device this accumulation has a fixed order, which index_add has not
    empty = each.new_zeros(2 * (columns + 1))
    totals = empty.index_put((place,), each, accumulate=True).view(2, -1)[:, :columns]
    seen = ones.new_zeros(2 * (columns + 1)).scatter(0, place, ones).view(2, -1)[:, :columns] > 0
    return totals, seen


def _merged(totals: Tensor, seen: Tensor, undirected: bool, directed: str) -> Tensor:
    """The weight of each edge: the sum of its columns, or the mean over its directions."""
    if undirected:
        return totals.sum(0)
    if directed == "symmetrize":
        return totals.sum(0) / seen.sum(0).clamp(min=1)
    return totals.sum(0) / 2


def _is_wrong(
    totals: Tensor, seen: Tensor, there: Tensor, undirected: bool, directed: str
) -> Tensor:
    """Whether directions are missing or unequal; undirected: whether every edge is there twice."""
    if undirected:
        return there.any() & (seen.all(0) | ~there).all()
    if directed == "symmetrize":
        return there.new_zeros(())
    backward, forward = totals
    slack = 64 * torch.finfo(totals.dtype).eps
    apart = (forward - backward).abs() > slack * torch.maximum(forward, backward)
    return ((apart | ~seen.all(0)) & there).any()
