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
from elasticgnn.attack.victim import loss_and_gradient

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
    graph = search.victim.task.graph
    ends = torch.cat((graph.tail, graph.head))
    degree = torch.bincount(ends, minlength=graph.num_nodes).numpy()
    local = search.settings.constraints.node_budget(degree)
    if local is None:
        return project_to_budget(share, search.flips)
    pairs, each = key_pairs(block.keys, graph.num_nodes), torch.from_numpy(local)
    return project_to_budget(
        share, search.flips, lambda inside: within_node_budget(inside, pairs, each)
    )


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
    """The worst graph for the victim among the likeliest flips and random draws of the shares.

    A draw may be of fewer pairs than the budget, or of more at a node than that has: the likeliest
    of the others fill it up, then pairs without a share by their gradient.
    """
    victim, settings, graph = search.victim, search.settings, search.victim.task.graph
    best, best_value = torch.zeros(0, 2, dtype=torch.int64), (2.0, 0.0)
    likely = torch.argsort(share, descending=True, stable=True)
    likely = likely[: int((share > NEGLIGIBLE).sum())]
    for draw in range(settings.samples):
        first = torch.ones_like(likely, dtype=torch.bool)
        if draw:
            drawn = torch.rand(len(share), generator=search.generator, dtype=share.dtype)
            first = (drawn < share)[likely]
        state = Flippable(graph, settings.constraints)
        for places in (likely[first], likely[~first]):
            pairs = key_pairs(block.keys[places], graph.num_nodes)
            state.flip_allowed(pairs.tolist(), search.flips)
        if len(state.flipped) < search.flips:
            pairs = key_pairs(promising(search, block, share), graph.num_nodes)
            state.flip_allowed(pairs.tolist(), search.flips)
        attacked = graph.with_edges_flipped(state.pairs())
        value = (victim.accuracy(attacked), -float(victim.loss(attacked).detach()))
        if value < best_value:
            best, best_value = state.pairs(), value
    return Flips(best, (*losses, -best_value[1]))


def promising(search: Search, block: Block, share: Tensor) -> Tensor:
    """Keys of the block's pairs without a share that raise the loss, the steepest first."""
    leaf = share.clone().requires_grad_()
    _, gradient = loss_and_gradient(search.victim, block.relax(leaf), leaf)
    unused = (share <= NEGLIGIBLE) & (gradient > 0)
    order = torch.argsort(torch.where(unused, gradient, 0.0), descending=True, stable=True)
    return block.keys[order[: int(unused.sum())]]
