"""Splits of one's own for training with given settings: a column, groups, time, or k folds."""

from __future__ import annotations

import numpy as np
import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.training.tuning.folds import Array, deal
from elasticgnn.training.tuning.splitting import (
    Splitting,
    group_parts,
    moments,
    parts_of,
    texts_of,
)


def own_splits(task: NodeTask, splitting: Splitting, seed: int) -> list[Split]:
    """The one split of a column or of time; else each fold is once the test, the next validates."""
    known, rng = task.labelled.numpy(), np.random.default_rng(seed)
    if splitting.parts is not None:
        parts = parts_of(task, splitting.parts, known)
        return [parts_split(known, *(parts == name for name in ("train", "val", "test")))]
    if splitting.time is not None:
        return [by_order(known[np.argsort(moments_of(task, splitting, known), kind="stable")])]
    count = splitting.folds
    if count < 3:
        raise ValueError(f"folds must be >= 3 to train, validate and test, got {count}")
    if splitting.groups is not None:
        part = group_parts(texts_of(task, splitting.groups, known), count, rng)
    else:
        part = deal(task.labels[known].numpy(), count, rng)
    return [
        parts_split(
            known, (part != k) & (part != (k + 1) % count), part == (k + 1) % count, part == k
        )
        for k in range(count)
    ]


def moments_of(task: NodeTask, splitting: Splitting, known: Array) -> Array:
    """The time of each known node."""
    assert splitting.time is not None
    return moments(texts_of(task, splitting.time, known), splitting.time)


def by_order(nodes: Array) -> Split:
    """The first 60 % train, the next 20 % validate, the last 20 % test."""
    first, second = round(0.6 * len(nodes)), round(0.8 * len(nodes))
    return Split(*(torch.from_numpy(part) for part in np.split(nodes, [first, second])))


def parts_split(nodes: Array, train: Array, val: Array, test: Array) -> Split:
    """The nodes under three masks."""
    return Split(*(torch.from_numpy(nodes[mask]) for mask in (train, val, test)))
