"""Attacks on single nodes, each with a budget of its own degree's size."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from elasticgnn.attack import AttackBudget, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack.run import Settings
from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.robustness.plan import DEGREES

MOST_GENERATIONS = 100  # of EvA at a single node


def pick_targets(task: NodeTask, test: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` test nodes, as many as can be of each class of DEGREES (Mujkanovic et al. 2022)."""
    if count < 1:
        raise ValueError(f"targets must be >= 1, got {count}")
    degree = degrees(task)
    order = test[torch.randperm(len(test), generator=generator)]
    rank = degree[order]
    each = -(-count // len(DEGREES))
    parts = [order[(rank >= low) & (rank <= high)][:each] for low, high in DEGREES]
    chosen = torch.cat(parts)
    if len(chosen) == 0:
        raise ValueError(f"test nodes must have degrees among {DEGREES}, got {int(rank.max())}")
    return chosen[:count] if len(chosen) > count else chosen


def degrees(task: NodeTask) -> Tensor:
    """The degree of every node (n,)."""
    ends = torch.cat((task.graph.tail, task.graph.head))
    return torch.bincount(ends, minlength=task.num_nodes)


def flips_at(degree: int, rate: float) -> int:
    """How many flips may hit a target of this degree: the nearest number, at least 1."""
    return max(1, round(rate * degree))


def attack_targets(
    task: NodeTask,
    nodes: Tensor,
    rate: float,
    method: str,
    victim: nn.Module,
    model: nn.Module,
    settings: Settings | None,
    seed: int,
) -> tuple[float | None, int]:
    """Share of `nodes` that `model` still gets right, and all flips; None: no gradient there.

    A target of degree k may be hit by round(rate * k) flips, at least 1, at its own edges.
    """
    no_nodes = torch.zeros(0, dtype=torch.int64)
    degree, right, flips = degrees(task), 0, 0
    for node in nodes.tolist():
        target = torch.tensor([node])
        budget = AttackBudget(edges=flips_at(int(degree[node]), rate))
        split = Split(no_nodes, no_nodes, target)
        draw = torch.Generator().manual_seed(seed)
        try:
            given = at_targets(settings, task.num_nodes)
            found = attack(task, split, budget, method, victim, draw, settings=given)
        except NoEdgeGradientError:
            return None, 0
        flips += len(found)
        right += int(Victim(model, task, target).accuracy(found.apply(task.graph)))
    return right / len(nodes), flips


def at_targets(settings: Settings | None, num_nodes: int) -> Settings | None:
    """The settings with all pairs of the target as the block: there are n - 1 of them."""
    if isinstance(settings, GradientSettings):
        return replace(settings, around_targets=True, block_size=2 * num_nodes, fresh_epochs=0)
    if isinstance(settings, EvolutionSettings):
        most = min(settings.generations, MOST_GENERATIONS)
        return replace(settings, around_targets=True, generations=most)
    return settings
