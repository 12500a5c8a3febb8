"""PRBCD, GRBCD (Geisler et al. 2021) and PGD (Xu et al. 2019) through any model's edge gradient.

A block of random pairs is relaxed to shares in [0, 1]; gradient steps move the shares, projected
onto the budget. Memory is bounded by the block; PGD is the same with all pairs as one block.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.budget_projection import project_to_budget
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.losses import find_loss
from elasticgnn.attack.relaxed import Block, key_pairs, random_keys
from elasticgnn.attack.victim import Retraining, Victim, loss_and_gradient
from elasticgnn.graph import Graph

Progress = Callable[[int, float], None]
NEGLIGIBLE = 1e-7  # shares up to here are replaced by fresh pairs


@dataclass(frozen=True)
class GradientSettings:
    """Options of PGD, PRBCD and GRBCD.

    block_size: pairs relaxed together. epochs: gradient steps, the block being renewed after each
    of the first `fresh_epochs`. samples: discrete graphs drawn at the end, the best is kept.
    poisoning: the victim is trained on while it is attacked. around_targets: only pairs with an
    attacked node at one end.
    """

    loss: str = "tanh_margin"
    block_size: int = 50_000
    epochs: int = 125
    fresh_epochs: int = 100
    learning_rate: float = 1000.0
    samples: int = 20
    constraints: Constraints = field(default_factory=Constraints)
    poisoning: Retraining | None = None
    around_targets: bool = False

    def __post_init__(self) -> None:
        find_loss(self.loss)
        for name in ("block_size", "epochs", "samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if not 0 <= self.fresh_epochs <= self.epochs:
            raise ValueError(f"fresh_epochs must be in 0..epochs, got {self.fresh_epochs}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0, got {self.learning_rate}")


@dataclass(frozen=True)
class Flips:
    """Flipped pairs (k, 2), surest first, and the loss along the way."""

    pairs: Tensor
    loss: tuple[float, ...]


def prbcd(
    victim: Victim,
    flips: int,
    settings: GradientSettings,
    generator: torch.Generator,
    retrain: Callable[[Graph], None] | None = None,
    progress: Progress = lambda epoch, loss: None,
) -> Flips:
    """At most `flips` pairs found by projected gradient steps on random blocks."""
    graph = victim.task.graph
    block = Block.over(graph, draw_block(victim, settings, settings.block_size, generator))
    share = torch.full((len(block.keys),), NEGLIGIBLE, dtype=torch.float64)
    rate = settings.learning_rate * flips / graph.num_nodes
    losses = list[float]()
    for epoch in range(settings.epochs):
        leaf = share.clone().requires_grad_()
        relaxed = block.relax(leaf)
        if retrain is not None:
            retrain(relaxed)
        loss, gradient = loss_and_gradient(victim, relaxed, leaf)
        losses.append(loss)
        progress(epoch, loss)
        slowing = max(0, epoch - settings.fresh_epochs) + 1
        step = rate / slowing**0.5
        share = project_to_budget(share + step * gradient, flips).clamp(min=NEGLIGIBLE)
        if epoch < settings.fresh_epochs:
            block, share = renew(block, share, victim, settings, generator)
    return best_sample(victim, block, share, (flips, settings), generator, tuple(losses))


def draw_block(
    victim: Victim, settings: GradientSettings, count: int, generator: torch.Generator
) -> Tensor:
    """Fresh random pairs, as keys."""
    ends = victim.nodes if settings.around_targets else None
    return random_keys(victim.task.num_nodes, count, generator, ends)


def renew(
    block: Block,
    share: Tensor,
    victim: Victim,
    settings: GradientSettings,
    generator: torch.Generator,
) -> tuple[Block, Tensor]:
    """The block with its unused pairs (at least half of it) replaced by fresh ones."""
    keep = share > NEGLIGIBLE
    if int(keep.sum()) > settings.block_size // 2:
        keep = torch.zeros_like(keep)
        keep[share.topk(settings.block_size // 2).indices] = True
    fresh = draw_block(victim, settings, settings.block_size - int(keep.sum()), generator)
    keys = torch.unique(torch.cat((block.keys[keep], fresh)))
    renewed = torch.full((len(keys),), NEGLIGIBLE, dtype=share.dtype)
    renewed[torch.searchsorted(keys, block.keys[keep])] = share[keep]
    return Block.over(block.graph, keys), renewed


def best_sample(
    victim: Victim,
    block: Block,
    share: Tensor,
    limits: tuple[int, GradientSettings],
    generator: torch.Generator,
    losses: tuple[float, ...],
) -> Flips:
    """The worst graph for the victim among the likeliest flips and random draws of the shares."""
    flips, settings = limits
    graph = victim.task.graph
    best, best_value = torch.zeros(0, 2, dtype=torch.int64), (2.0, 0.0)
    for draw in range(settings.samples):
        chosen = share > NEGLIGIBLE
        if draw:
            chosen &= torch.rand(len(share), generator=generator, dtype=share.dtype) < share
        order = torch.argsort(torch.where(chosen, share, -1.0), descending=True, stable=True)
        keys = block.keys[order[: int(chosen.sum())]]
        pairs = allowed(graph, key_pairs(keys, graph.num_nodes), flips, settings.constraints)
        attacked = graph.with_edges_flipped(pairs)
        value = (victim.accuracy(attacked), -float(victim.loss(attacked).detach()))
        if value < best_value:
            best, best_value = pairs, value
    return Flips(best, (*losses, -best_value[1]))


def allowed(graph: Graph, pairs: Tensor, flips: int, constraints: Constraints) -> Tensor:
    """The first `flips` of `pairs` that the constraints allow one after the other."""
    state = Flippable(graph, constraints)
    for tail, head in pairs.tolist():
        if len(state.flipped) == flips:
            break
        if state.may_flip(tail, head):
            state.flip(tail, head)
    return torch.tensor(state.flipped, dtype=torch.int64).reshape(-1, 2)


def grbcd(
    victim: Victim,
    flips: int,
    settings: GradientSettings,
    generator: torch.Generator,
    retrain: Callable[[Graph], None] | None = None,
    progress: Progress = lambda epoch, loss: None,
) -> Flips:
    """`flips` pairs taken greedily: each epoch flips the best of a fresh random block."""
    graph = victim.task.graph
    state = Flippable(graph, settings.constraints)
    losses = list[float]()
    for epoch in range(settings.epochs):
        wanted = round(flips * (epoch + 1) / settings.epochs) - len(state.flipped)
        if wanted <= 0:
            continue
        done = torch.tensor(state.flipped, dtype=torch.int64).reshape(-1, 2)
        current = graph.with_edges_flipped(done)
        if retrain is not None:
            retrain(current)
        keys = draw_block(victim, settings, settings.block_size, generator)
        block = Block.over(current, keys)
        leaf = torch.zeros(len(keys), dtype=torch.float64, requires_grad=True)
        loss, gradient = loss_and_gradient(victim, block.relax(leaf), leaf)
        losses.append(loss)
        progress(epoch, loss)
        take(state, block, gradient, wanted)
    pairs = torch.tensor(state.flipped, dtype=torch.int64).reshape(-1, 2)
    return Flips(pairs, (*losses, float(victim.loss(graph.with_edges_flipped(pairs)).detach())))


def take(state: Flippable, block: Block, gradient: Tensor, wanted: int) -> None:
    """Flips the `wanted` pairs of largest gradient that are allowed and raise the loss."""
    enough = min(len(gradient), 4 * wanted + 16)
    value, place = gradient.topk(enough)
    goal = len(state.flipped) + wanted
    for tail, head in key_pairs(block.keys[place[value > 0]], state.num_nodes).tolist():
        if len(state.flipped) == goal:
            return
        if state.may_flip(tail, head):
            state.flip(tail, head)
