"""Divisions of labelled nodes into training, validation and test: the paper's, and one's own."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticgnn.data.split import Split
from elasticgnn.data.task import NodeTask

SPLITS, MANY_NODES = 10, 100_000


def draw_splits(task: NodeTask, count: int | None, seed: int, *, own: bool) -> list[Split]:
    """`count` splits for training with given settings; see `usual_split`.

    None draws ten: of very many nodes of one's own, one, which measures well enough alone.
    """
    if count is None:
        count = 1 if own and task.num_nodes > MANY_NODES else SPLITS
    if count < 1:
        raise ValueError(f"splits must be >= 1, got {count}")
    generator = torch.Generator().manual_seed(seed)
    return [usual_split(task, generator, own=own) for _ in range(count)]


def usual_split(task: NodeTask, generator: torch.Generator, *, own: bool) -> Split:
    """The paper's split of its data sets; 60/20/20 of the known nodes of one's own files."""
    if own:
        return share_split(task.labels, generator, train=0.6, val=0.2)
    return paper_split(task, generator)


def paper_split(task: NodeTask, generator: torch.Generator) -> Split:
    """The split the paper prescribes for `task`: drawn by its rule, or the fixed one.

    >>> from elasticgnn.data import load, paper_split
    >>> paper_split(load("cora"), generator).sizes
    (140, 500, 1000)
    """
    if task.split_rule == "fixed":
        assert task.split is not None  # NodeTask checks it
        return task.split
    if task.split_rule == "20-500-1000":
        return planetoid_split(task.labels, generator)
    if task.split_rule == "20-30-rest":
        return per_class_split(task.labels, generator)
    return share_split(task.labels, generator)


def planetoid_split(
    labels: Tensor,
    generator: torch.Generator,
    *,
    per_class: int = 20,
    num_val: int = 500,
    num_test: int = 1000,
) -> Split:
    """`per_class` training nodes of each class, then `num_val` and `num_test` of the others.

    >>> from elasticgnn.data import planetoid_split
    >>> planetoid_split(task.labels, generator, per_class=5, num_val=10, num_test=40).sizes
    (10, 10, 40)
    """
    order = shuffled_labelled(labels, generator)
    train, others = take_per_class(labels, order, per_class)
    needed = num_val + num_test
    if len(others) < needed:
        raise ValueError(
            f"labels must leave {needed} nodes for validation and test, got {len(others)}"
        )
    return Split(train, others[:num_val], others[num_val:needed])


def per_class_split(
    labels: Tensor,
    generator: torch.Generator,
    *,
    train_per_class: int = 20,
    val_per_class: int = 30,
) -> Split:
    """Fixed numbers of training and validation nodes of each class; the rest is for testing.

    >>> from elasticgnn.data import per_class_split
    >>> per_class_split(task.labels, generator, train_per_class=4, val_per_class=6).sizes
    (8, 12, 40)
    """
    order = shuffled_labelled(labels, generator)
    train, others = take_per_class(labels, order, train_per_class)
    val, test = take_per_class(labels, others, val_per_class)
    return Split(train, val, test)


def share_split(
    labels: Tensor, generator: torch.Generator, *, train: float = 0.1, val: float = 0.1
) -> Split:
    """Shares of each class, rounded to whole nodes; every class has at least 1 training node.

    Drawn class by class (as the fixed splits of the attacked graphs are), so that a small class
    is never without a training node. Validation gets 1 node of each class with 2 or more.

    >>> from elasticgnn.data import share_split
    >>> share_split(task.labels, generator, train=0.5, val=0.1).sizes
    (30, 6, 24)
    """
    if not (train > 0 and val >= 0 and train + val < 1):
        raise ValueError(f"train and val must be shares that leave a rest, got {train}, {val}")
    order = shuffled_labelled(labels, generator)
    parts: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
    for label in torch.unique(labels[order]).tolist():
        own = order[labels[order] == label]
        first = max(1, round(train * len(own)))
        second = first + (max(1, round(val * len(own))) if val > 0 else 0)
        for part, nodes in zip(parts, (own[:first], own[first:second], own[second:]), strict=True):
            part.append(nodes)
    return Split(*(torch.cat(part) for part in parts))


def shuffled_labelled(labels: Tensor, generator: torch.Generator) -> Tensor:
    """The nodes of known class in random order; at least two classes must occur."""
    if not isinstance(generator, torch.Generator):
        raise ValueError(f"generator must be a torch.Generator, got {type(generator).__name__}")
    known = (labels >= 0).nonzero().flatten()
    num_classes = torch.unique(labels[known]).numel()
    if num_classes < 2:
        raise ValueError(f"labels must show at least 2 classes, got {num_classes}")
    return known[torch.randperm(len(known), generator=generator)]


def take_per_class(labels: Tensor, order: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The first `count` nodes of each class in `order`, and all others, both in that order."""
    sorted_labels, position = torch.sort(labels[order], stable=True)
    sizes = torch.bincount(sorted_labels)
    sizes = sizes[sizes > 0]
    if int(sizes.min()) < count:
        raise ValueError(f"each class must have {count} nodes to draw, got {int(sizes.min())}")
    first = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    rank = torch.empty_like(first)
    rank[position] = torch.arange(len(order)) - first
    return order[rank < count], order[rank >= count]
