"""Attacks without a model: random pairs, and DICE."""

import torch
from torch import Tensor

from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.relaxed import edge_keys, key_pairs, random_keys
from elasticgnn.data import NodeTask

ROUNDS = 50  # of drawing again when constraints or repetitions used pairs up


def random_flips(
    task: NodeTask, flips: int, constraints: Constraints, generator: torch.Generator
) -> Tensor:
    """New edges between uniformly drawn nodes (k, 2): noise, not an attack."""
    state = Flippable(task.graph, constraints)
    for _ in range(ROUNDS):
        drawn = random_keys(task.num_nodes, 2 * (flips - len(state.flipped)), generator)
        new = drawn[~torch.isin(drawn, edge_keys(task.graph))]
        flip_all(state, shuffled(new, generator), flips, task)
        if len(state.flipped) >= flips:
            break
    return as_pairs(state)


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
        flip_all(state, shuffled(torch.cat((remove, add)), generator), flips, task)
        if len(state.flipped) >= flips:
            break
    return as_pairs(state)


def same_class(keys: Tensor, labels: Tensor) -> Tensor:
    """(k,) both ends known and equal."""
    one, other = labels[key_pairs(keys, len(labels))].T
    return (one == other) & (one >= 0)


def other_class(keys: Tensor, labels: Tensor) -> Tensor:
    """(k,) both ends known and different."""
    one, other = labels[key_pairs(keys, len(labels))].T
    return (one != other) & (one >= 0) & (other >= 0)


def shuffled(keys: Tensor, generator: torch.Generator) -> Tensor:
    return keys[torch.randperm(len(keys), generator=generator)]


def flip_all(state: Flippable, keys: Tensor, flips: int, task: NodeTask) -> None:
    """Flips those that are allowed until there are `flips`."""
    for tail, head in key_pairs(keys, task.num_nodes).tolist():
        if len(state.flipped) == flips:
            return
        if state.may_flip(tail, head):
            state.flip(tail, head)


def as_pairs(state: Flippable) -> Tensor:
    return torch.tensor(state.flipped, dtype=torch.int64).reshape(-1, 2)
