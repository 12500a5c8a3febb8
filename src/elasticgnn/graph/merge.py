"""From any list of edges to the canonical one: each undirected edge once, tail < head, sorted."""

from typing import NamedTuple

import torch
from torch import Tensor


class Edges(NamedTuple):
    tail: Tensor  # (m,) int64
    head: Tensor  # (m,) int64
    weight: Tensor  # (m,)


def merge_edges(edge_index: Tensor, weight: Tensor, num_nodes: int, undirected: bool) -> Edges:
    """Canonical edges: self-loops dropped, parallel edges added up; differentiable in `weight`."""
    source, target = edge_index[0].long(), edge_index[1].long()
    if bool((source == target).any()):
        keep = source != target
        source, target, weight = source[keep], target[keep], weight[keep]
    key = torch.minimum(source, target) * num_nodes + torch.maximum(source, target)
    pair, slot = torch.unique(key, return_inverse=True)
    forward = source < target
    if undirected:
        _refuse_both_directions(forward, slot, len(pair))
        total = weight.new_zeros(len(pair)).index_add(0, slot, weight)
    else:
        total = _mean_of_directions(weight, forward, slot, len(pair), pair, num_nodes)
    return Edges(pair // max(num_nodes, 1), pair % max(num_nodes, 1), total)


def _refuse_both_directions(forward: Tensor, slot: Tensor, num_pairs: int) -> None:
    # A list with both directions of every edge, read as undirected, would double every weight.
    seen = torch.zeros(2, num_pairs, dtype=torch.bool, device=slot.device)
    seen[forward.long(), slot] = True
    if num_pairs and bool(seen.all()):
        raise ValueError(
            "undirected must be False for an edge_index that holds both directions of every edge, "
            "got True (each edge would count twice)"
        )


def _mean_of_directions(
    weight: Tensor, forward: Tensor, slot: Tensor, num_pairs: int, pair: Tensor, num_nodes: int
) -> Tensor:
    """Per pair the common weight of its two directions, which must agree."""
    totals = weight.new_zeros(2 * num_pairs).index_add(0, slot + num_pairs * forward.long(), weight)
    backward_total, forward_total = totals.view(2, num_pairs)
    count = torch.bincount(slot + num_pairs * forward.long(), minlength=2 * num_pairs)
    backward_count, forward_count = count.view(2, num_pairs)
    with torch.no_grad():
        # Sums of the same numbers in another order may differ in the last bits.
        slack = 64 * torch.finfo(weight.dtype).eps
        larger = torch.maximum(forward_total, backward_total)
        apart = (forward_total - backward_total).abs() > slack * larger
        wrong = apart | ((forward_count == 0) != (backward_count == 0))
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        i, j = int(pair[first]) // num_nodes, int(pair[first]) % num_nodes
        raise ValueError(
            "edge_index must hold both directions of every edge with equal weights unless "
            f"undirected=True, got {float(forward_total[first]):g} for ({i}, {j}) and "
            f"{float(backward_total[first]):g} for ({j}, {i})"
        )
    return (forward_total + backward_total) / 2
