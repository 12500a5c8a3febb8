"""GRBCD (Geisler et al. 2021): the best pairs of fresh random blocks, taken greedily."""

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.relaxed import Block, key_pairs
from elasticgnn.attack.search import Flips, Search


def grbcd(search: Search) -> Flips:
    """The budget's pairs, an equal part of them in each epoch."""
    settings, graph = search.settings, search.victim.task.graph
    state = Flippable(graph, settings.constraints)
    losses = list[float]()
    for epoch in range(settings.epochs):
        wanted = round(search.flips * (epoch + 1) / settings.epochs) - len(state.flipped)
        if wanted <= 0:
            continue
        block = Block.over(
            graph.with_edges_flipped(state.pairs()), search.draw(settings.block_size)
        )
        leaf = torch.zeros(len(block.keys), dtype=torch.float64, requires_grad=True)
        loss, gradient = search.ask(epoch, block.relax(leaf), leaf)
        losses.append(loss)
        take(state, block, gradient, wanted)
    attacked = graph.with_edges_flipped(state.pairs())
    return Flips(state.pairs(), (*losses, float(search.victim.loss(attacked).detach())))


def take(state: Flippable, block: Block, gradient: Tensor, wanted: int) -> None:
    """Flips the `wanted` pairs of largest gradient that are allowed and raise the loss."""
    value, place = gradient.topk(min(len(gradient), 4 * wanted + 16))
    pairs = key_pairs(block.keys[place[value > 0]], state.num_nodes)
    state.flip_allowed(pairs.tolist(), len(state.flipped) + wanted)
