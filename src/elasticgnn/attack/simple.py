"""Attacks without a model: random pairs, and DICE."""

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.relaxed import key_pairs, random_keys
from elasticgnn.data import NodeTask
from elasticgnn.graph.keys import edge_keys

ROUNDS = 50  # of drawing again when constraints or repetitions used pairs up


def random_flips(
    task: NodeTask, flips: int, constraints: Constraints, generator: torch.Generator
) -> Tensor:
    """New edges between uniformly drawn nodes (k, 2): noise, not an attack."""
    state = Flippable(task.graph, constraints)
    for _ in range(ROUNDS):
        drawn = random_keys(task.num_nodes, 2 * (flips - len(state.flipped)), generator)
        new = drawn[~torch.isin(drawn, edge_keys(task.graph))]
        state.flip_allowed(as_pairs(shuffled(new, generator), task), flips)
        if len(state.flipped) >= flips:
            break
    return state.pairs()


def dice(
    task: NodeTask, flips: int, constraints: Constraints, generator: torch.Generator
) -> Tensor:
    """Half removals within a class, half new edges between classes (k, 2), in random order.

    Waniek et al. (2018). Nodes of unknown class are left alone.
    """
    state = Flippable(task.graph, constraints)
    labels, edges = task.labels, edge_keys(task.graph)
    for _ in range(ROUNDS):
        missing = flips - len(state.flipped)
        remove = edges[same_class(edges, labels)]
        remove = shuffled(remove, generator)[: missing // 2]
        drawn = random_keys(task.num_nodes, 4 * missing, generator)
        drawn = drawn[~torch.isin(drawn, edges) & other_class(drawn, labels)]
        add = shuffled(drawn, generator)[: missing - len(remove)]
        mixed = shuffled(torch.cat((remove, add)), generator)
        state.flip_allowed(as_pairs(mixed, task), flips)
        if len(state.flipped) >= flips:
            break
    return state.pairs()


def same_class(keys: Tensor, labels: Tensor) -> Tensor:
    """(k,) both ends known and equal."""
    one, other = labels[key_pairs(keys, len(labels))].T
    return (one == other) & (one >= 0)


def other_class(keys: Tensor, labels: Tensor) -> Tensor:
    """(k,) both ends known and different."""
    one, other = labels[key_pairs(keys, len(labels))].T
    return (one != other) & (one >= 0) & (other >= 0)


def shuffled(keys: Tensor, generator: torch.Generator) -> Tensor:
    """The keys in an order drawn by `generator`."""
    return keys[torch.randperm(len(keys), generator=generator)]


def as_pairs(keys: Tensor, task: NodeTask) -> list[tuple[int, int]]:
    """Keys as (tail, head)."""
    return [(tail, head) for tail, head in key_pairs(keys, task.num_nodes).tolist()]
