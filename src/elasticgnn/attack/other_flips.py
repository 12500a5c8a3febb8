"""Flips of labels and of 0/1 features: simple attacks beside those on the edges."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.data import NodeTask, Split
from elasticgnn.features import SparseFeatures

ROUNDS = 10  # gradients that the budget of feature flips is spread over


def flip_labels(task: NodeTask, split: Split, share: float, generator: torch.Generator) -> NodeTask:
    """The task with a share of the training nodes (rounded down) given another class at random.

    >>> from elasticgnn.attack import flip_labels
    >>> int((flip_labels(task, split, 0.5, generator).labels != task.labels).sum())
    6
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be in [0, 1], got {share}")
    if task.num_classes < 2:
        raise ValueError(f"task must have two classes for labels to flip, got {task.num_classes}")
    count = int(share * len(split.train) + 1e-9)
    nodes = split.train[torch.randperm(len(split.train), generator=generator)[:count]]
    step = torch.randint(1, task.num_classes, (count,), generator=generator)
    labels = task.labels.clone()
    labels[nodes] = (labels[nodes] + step) % task.num_classes
    return replace(task, labels=labels)


def flip_features(task: NodeTask, nodes: Tensor, flips: int, model: nn.Module) -> NodeTask:
    """The task with `flips` 0/1 features of `nodes` changed, those whose gradient hurts most.

    The budget is spent in equal parts, each along a new gradient of the tanh margin; no entry is
    flipped twice. Fewer are flipped where no other raises the loss.

    >>> from dataclasses import replace
    >>> from elasticgnn.attack import flip_features
    >>> words = replace(task, features=(task.features > 0).float())  # 0/1, as bags of words are
    >>> changed = flip_features(words, split.test[:2], 4, model)
    >>> int((changed.features != words.features).sum())
    4
    """
    check_presence(task)
    dense = dense_features(task)
    if flips < 0:
        raise ValueError(f"flips must be >= 0, got {flips}")
    free = torch.zeros_like(dense, dtype=torch.bool)
    free[nodes] = True
    done = 0
    for part in range(1, ROUNDS + 1):
        wanted = round(flips * part / ROUNDS) - done
        chosen = best_entries(task, dense, nodes, model, free, wanted)
        dense.view(-1)[chosen] = 1 - dense.view(-1)[chosen]
        free.view(-1)[chosen] = False
        done += len(chosen)
    return with_features(task, dense)


def check_presence(task: NodeTask) -> None:
    """Refuses features that cannot be flipped."""
    dense = dense_features(task)
    if bool(((dense != 0) & (dense != 1)).any()):
        raise ValueError("features must be 0 or 1 to be flipped, got other values")


def best_entries(
    task: NodeTask, dense: Tensor, nodes: Tensor, model: nn.Module, free: Tensor, count: int
) -> Tensor:
    """The `count` free entries whose flip raises the loss most to first order."""
    leaf = dense.clone().requires_grad_()
    victim = Victim(model, replace(task, features=leaf), nodes)
    loss = victim.loss(task.graph)
    (gradient,) = torch.autograd.grad(loss, leaf, allow_unused=True) if loss.grad_fn else (None,)
    if gradient is None or bool(gradient.isnan().any()):
        raise NoEdgeGradientError("model must hand back a gradient of the features, got none")
    gain = torch.where(free, gradient * (1 - 2 * dense), -torch.inf).view(-1)
    value, place = gain.topk(min(count, gain.numel()))
    return place[value > 0]


def dense_features(task: NodeTask) -> Tensor:
    """A dense copy."""
    features = task.features
    return features.to_dense() if isinstance(features, SparseFeatures) else features.clone()


def with_features(task: NodeTask, dense: Tensor) -> NodeTask:
    """The task with other features, stored as before."""
    sparse = isinstance(task.features, SparseFeatures)
    return replace(task, features=SparseFeatures.from_dense(dense) if sparse else dense)
