"""Which known nodes choose the settings, and which are held out to measure the choice."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.data import NodeTask, Split
from elasticgnn.training.tuning.splitting import (
    Splitting,
    cuts_in_time,
    group_parts,
    moments,
    parts_of,
    texts_of,
)

HOLDOUT_ONE_IN = 5  # one known node in so many is held out
MANY = 4000  # known nodes from which on one fold is measured well enough
FEWEST = 10
FEWEST_NUMBERS = 25
RANDOM = Splitting()
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Division:
    """holdout: nodes that no choice has seen; folds: splits of the others into train and val.

    refit_nodes: what the winner is trained on in the end; order: whether nodes were dealt at
    random, or by what only whole groups, or only their time, keep apart.
    """

    holdout: Tensor
    development: Tensor
    folds: tuple[Split, ...]
    refit_nodes: Tensor
    order: Literal["random", "grouped", "time"] = "random"

    @property
    def refit_on_holdout(self) -> bool:
        """Whether the winner is trained on the holdout, too, in the end."""
        return len(self.refit_nodes) > len(self.development)

    def trained_without(self, nodes: Tensor, fold: int | None) -> Tensor:
        """The nodes to train on where `nodes`, of the holdout or a fold, are not to be seen."""
        if self.order == "time":  # nor anything later
            return self.development if fold is None else self.folds[fold].train
        return self.refit_nodes[~torch.isin(self.refit_nodes, nodes)]

    @property
    def digest(self) -> str:
        """Names the division: equal ones have equal digests."""
        parts = [self.holdout, self.refit_nodes]
        parts += [part for fold in self.folds for part in (fold.train, fold.val)]
        sums = hashlib.sha256()
        for part in parts:
            sums.update(f"{len(part)} ".encode() + part.numpy().tobytes())
        return sums.hexdigest()[:16]


def divide(task: NodeTask, rng: np.random.Generator, splitting: Splitting = RANDOM) -> Division:
    """A division of the known nodes: at random with equal shares of classes, or as asked."""
    known = task.labelled.numpy()
    codes = strata(task)[known]
    check_enough(task, codes)
    return with_sound_folds(task, divided(task, known, codes, rng, splitting))


def divided(
    task: NodeTask, known: Array, codes: Array, rng: np.random.Generator, splitting: Splitting
) -> Division:
    """The division before a look at what its folds can teach."""
    if splitting.parts is not None:
        return by_parts(task, known, codes, rng, splitting)
    if splitting.groups is not None:
        groups = np.array(texts_of(task, splitting.groups, known))
        held = group_parts(groups.tolist(), max(HOLDOUT_ONE_IN, splitting.folds + 1), rng) == 0
        part = group_parts(groups[~held].tolist(), splitting.folds, rng)
        folds = folds_of(known[~held], part, splitting.folds)
        return replace(division(known, held, folds), order="grouped")
    if splitting.time is not None:
        return by_time(task, known, splitting)
    held = held_at_random(codes, rng)
    fold = deal(codes[~held], splitting.folds, rng)
    count = 1 if (~held).sum() >= MANY else splitting.folds
    return division(known, held, folds_of(known[~held], fold, count))


def held_at_random(codes: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Whether each node is held out: one in five, and one of each class of three or more."""
    held = deal(codes, HOLDOUT_ONE_IN, rng) == 0
    for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
        if count >= 3 and not held[codes == code].any():
            held[rng.choice(np.flatnonzero(codes == code))] = True
    return held


def with_sound_folds(task: NodeTask, division: Division) -> Division:
    """The division without folds of which no model can learn, or be measured on.

    The first fold, which decides who goes on to the others, is one with more than one class.
    """
    sound = [fold for fold in division.folds if len(fold.val) and varies(task, fold.train)]
    if not sound:
        kind = "numbers" if task.values is not None else "classes"
        raise ValueError(f"known nodes to train on must be of at least 2 {kind}, got one")
    sound.sort(key=lambda fold: not varies(task, fold.val))
    return replace(division, folds=tuple(sound))


def varies(task: NodeTask, nodes: Tensor) -> bool:
    """Whether the known nodes are of more than one class, or number."""
    targets = task.labels if task.values is None else task.values
    return len(np.unique(targets[nodes].numpy())) > 1


def strata(task: NodeTask) -> Array:
    """What is dealt out evenly (n,): classes, or fifths of the numbers; -1 where unknown."""
    if task.values is None:
        return task.labels.numpy()
    values = task.values.numpy()
    edges = np.nanquantile(values, [0.2, 0.4, 0.6, 0.8])
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values))


def check_enough(task: NodeTask, codes: Array) -> None:
    """Refuses too few known nodes to choose by."""
    if task.values is not None and len(codes) < FEWEST_NUMBERS:
        raise ValueError(
            f"labels must be at least {FEWEST_NUMBERS} numbers to choose settings by, "
            f"got {len(codes)}"
        )
    if task.values is None and (len(codes) < FEWEST or (np.bincount(codes) >= 3).sum() < 2):
        raise ValueError(
            f"labels must be at least {FEWEST}, of 2 classes with 3 or more nodes each, to choose "
            f"settings by, got {len(codes)} (--tune off trains without)"
        )


def division(
    known: Array,
    held: NDArray[np.bool_],
    folds: tuple[Split, ...],
    *,
    refit_on_holdout: bool = True,
) -> Division:
    """The division whose holdout is `held`."""
    holdout, development = torch.from_numpy(known[held]), torch.from_numpy(known[~held])
    refit_nodes = torch.from_numpy(known) if refit_on_holdout else development
    return Division(holdout, development, folds, refit_nodes)


def folds_of(development: Array, part: Array, count: int) -> tuple[Split, ...]:
    """Fold k validates on part k and trains on the others."""
    return tuple(split_of(development[part != k], development[part == k]) for k in range(count))


def split_of(train: Array, val: Array) -> Split:
    """Training and validation nodes without any for a test."""
    nothing = torch.empty(0, dtype=torch.int64)
    return Split(torch.from_numpy(train), torch.from_numpy(val), nothing)


def by_parts(
    task: NodeTask, known: Array, codes: Array, rng: np.random.Generator, splitting: Splitting
) -> Division:
    """The holdout is the test nodes, which no model is ever trained on."""
    assert splitting.parts is not None
    parts = parts_of(task, splitting.parts, known)
    held = parts == "test"
    if (parts == "val").any():
        folds: tuple[Split, ...] = (split_of(known[parts == "train"], known[parts == "val"]),)
    else:
        fold = deal(codes[~held], splitting.folds, rng)
        folds = folds_of(known[~held], fold, splitting.folds)
    return division(known, held, folds, refit_on_holdout=False)


def by_time(task: NodeTask, known: Array, splitting: Splitting) -> Division:
    """The holdout is the latest fifth; fold k validates on what follows the nodes it trains on."""
    assert splitting.time is not None
    when = moments(texts_of(task, splitting.time, known), splitting.time)
    order = np.argsort(when, kind="stable")
    early = len(known) - max(1, len(known) // HOLDOUT_ONE_IN)
    wanted = [early * k // (splitting.folds + 1) for k in range(1, splitting.folds + 1)]
    cuts = cuts_in_time(when[order], [*wanted, early], splitting.time)
    held = np.zeros(len(known), dtype=bool)
    held[order[cuts[-1] :]] = True
    spans = itertools.pairwise(cuts)
    folds = tuple(split_of(known[order[:cut]], known[order[cut:end]]) for cut, end in spans)
    return replace(division(known, held, folds), order="time")


def deal(labels: NDArray[np.int64], parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """A part number for each node; each class is dealt out evenly, the smallest to no part 0."""
    if parts > len(labels):
        raise ValueError(f"folds must be at most {len(labels)}, one per node, got {parts}")
    part = np.empty(len(labels), dtype=np.int64)
    start = 1
    for label in np.unique(labels):
        nodes = rng.permutation(np.flatnonzero(labels == label))
        first = start if len(nodes) > 1 else 1
        part[nodes] = (first + np.arange(len(nodes))) % parts
        start += len(nodes)
    return part
