"""Splits of one's own for training with given settings: a column, groups, time, or k folds."""

from __future__ import annotations

import numpy as np
import torch

from elasticgnn.data import NodeTask, Split
from elasticgnn.training.tuning.folds import Array, deal
from elasticgnn.training.tuning.splitting import (
    Splitting,
    cuts_in_time,
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
        return [by_time(task, splitting.time, known)]
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


def by_time(task: NodeTask, column: str, known: Array) -> Split:
    """The first 60 % train, the next 20 % validate, the last 20 % test, about."""
    when = moments(texts_of(task, column, known), column)
    order = np.argsort(when, kind="stable")
    places = [round(0.6 * len(known)), round(0.8 * len(known))]
    parts = np.split(known[order], cuts_in_time(when[order], places, column))
    return Split(*(torch.from_numpy(part) for part in parts))


def parts_split(nodes: Array, train: Array, val: Array, test: Array) -> Split:
    """The nodes under three masks."""
    return Split(*(torch.from_numpy(nodes[mask]) for mask in (train, val, test)))
