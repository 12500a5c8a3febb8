"""PRBCD (Geisler et al. 2021), PGD (Xu et al. 2019) and LR-BCD (Gosch et al. 2023).

All go through a model's edge gradient.
A block of random pairs is relaxed to shares in [0, 1]; gradient steps move the shares, projected
onto the budget. Memory is bounded by the block; PGD is the same with all pairs as one block; LR-BCD
has a budget per node (`Constraints.node_share`) beside the common one.
"""

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.budget_projection import project_to_budget, within_node_budget
from elasticgnn.attack.relaxed import Block, key_pairs
from elasticgnn.attack.search import Flips, Search

NEGLIGIBLE = 1e-7  # shares up to here are replaced by fresh pairs


def prbcd(search: Search) -> Flips:
    """At most the budget's pairs, found by projected gradient steps on random blocks."""
    settings, graph = search.settings, search.victim.task.graph
    block = Block.over(graph, search.draw(settings.block_size))
    share = torch.full((len(block.keys),), NEGLIGIBLE, dtype=torch.float64)
    rate = settings.learning_rate * search.flips / graph.num_nodes
    losses = list[float]()
    for epoch in range(settings.epochs):
        leaf = share.clone().requires_grad_()
        loss, gradient = search.ask(epoch, block.relax(leaf), leaf)
        losses.append(loss)
        slowing = max(0, epoch - settings.fresh_epochs) + 1
        step = rate / slowing**0.5
        share = project(search, block, share + step * gradient).clamp(min=NEGLIGIBLE)
        if epoch < settings.fresh_epochs:
            block, share = renew(search, block, share)
    return best_sample(search, block, share, tuple(losses))


def project(search: Search, block: Block, share: Tensor) -> Tensor:
    """The shares within the budget, and within that of each node where there is one."""
    inside = project_to_budget(share, search.flips)
    graph = search.victim.task.graph
    ends = torch.cat((graph.tail, graph.head))
    degree = torch.bincount(ends, minlength=graph.num_nodes).numpy()
    local = search.settings.constraints.node_budget(degree)
    if local is None:
        return inside
    pairs = key_pairs(block.keys, graph.num_nodes)
    return within_node_budget(inside, pairs, torch.from_numpy(local))


def renew(search: Search, block: Block, share: Tensor) -> tuple[Block, Tensor]:
    """The block with its unused pairs (at least half of it) replaced by fresh ones."""
    size, keep = search.settings.block_size, share > NEGLIGIBLE
    if int(keep.sum()) > size // 2:
        keep = torch.zeros_like(keep)
        keep[share.topk(size // 2).indices] = True
    fresh = search.draw(size - int(keep.sum()))
    keys = torch.unique(torch.cat((block.keys[keep], fresh)))
    renewed = torch.full((len(keys),), NEGLIGIBLE, dtype=share.dtype)
    renewed[torch.searchsorted(keys, block.keys[keep])] = share[keep]
    return Block.over(block.graph, keys), renewed


def best_sample(search: Search, block: Block, share: Tensor, losses: tuple[float, ...]) -> Flips:
    """The worst graph for the victim among the likeliest flips and random draws of the shares."""
    victim, settings, graph = search.victim, search.settings, search.victim.task.graph
    best, best_value = torch.zeros(0, 2, dtype=torch.int64), (2.0, 0.0)
    for draw in range(settings.samples):
        chosen = share > NEGLIGIBLE
        if draw:
            drawn = torch.rand(len(share), generator=search.generator, dtype=share.dtype)
            chosen &= drawn < share
        order = torch.argsort(torch.where(chosen, share, -1.0), descending=True, stable=True)
        keys = block.keys[order[: int(chosen.sum())]]
        state = Flippable(graph, settings.constraints)
        state.flip_allowed(key_pairs(keys, graph.num_nodes).tolist(), search.flips)
        attacked = graph.with_edges_flipped(state.pairs())
        value = (victim.accuracy(attacked), -float(victim.loss(attacked).detach()))
        if value < best_value:
            best, best_value = state.pairs(), value
    return Flips(best, (*losses, -best_value[1]))
