"""How known nodes are divided by those who know their data: a column, groups, time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.data.own.spelling import look_alike, one_number, pair_in_words
from elasticgnn.data.own.table import is_missing

Array = NDArray[np.int64]
MONTH = re.compile(r"\d{1,2}\.(19|20)\d\d")
PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing", "holdout"), "test"),
}


@dataclass(frozen=True)
class Splitting:
    """By columns of the label file, at most one of them; without any, nodes are dealt at random.

    parts: says train, val or test of each node, and test nodes are held out; groups: nodes of one
    group stay together; time: the latest nodes are held out, and later ones validate. folds: of the
    other nodes.

    >>> from elasticgnn.training import Splitting
    >>> Splitting(groups="household").folds
    4
    """

    parts: str | None = None
    groups: str | None = None
    time: str | None = None
    folds: int = 4

    def __post_init__(self) -> None:
        named = [name for name in (self.parts, self.groups, self.time) if name is not None]
        if len(named) > 1:
            raise ValueError(
                "--split, --split-column, --groups and --time must be given one at a time, "
                f"got {named}"
            )
        if self.folds < 2:
            raise ValueError(f"folds must be >= 2, got {self.folds}")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the label file, or the split file, that are needed."""
        return tuple(name for name in (self.parts, self.groups, self.time) if name is not None)


def texts_of(task: NodeTask, column: str, nodes: Array) -> list[str]:
    """What the column says of the nodes; every one must have a word."""
    if column not in task.label_columns:
        raise ValueError(f"labels must have a column {column!r}, got {list(task.label_columns)}")
    listed = task.label_columns[column]
    texts = ["" if is_missing(listed[node]) else listed[node] for node in nodes.tolist()]
    if "" in texts:
        node = task.ids[int(nodes[texts.index("")])]
        raise ValueError(f"column {column!r} must be filled for labelled nodes, got none of {node}")
    return texts


def parts_of(task: NodeTask, column: str, nodes: Array) -> NDArray[np.str_]:
    """train, val or test for each node."""
    texts = [text.lower() for text in texts_of(task, column, nodes)]
    unknown = sorted(set(texts) - set(PARTS))
    if unknown:
        raise ValueError(f"column {column!r} must say train, val or test, got {unknown[0]!r}")
    parts = np.array([PARTS[text] for text in texts])
    for part in ("train", "test"):
        if not (parts == part).any():
            raise ValueError(
                f"column {column!r} must have {part} nodes among the labelled, got none"
            )
    return parts


def with_untaught(task: NodeTask, splitting: Splitting) -> NodeTask:
    """The task with a note on classes of which all nodes are to test: no model can say them."""
    if splitting.parts is None or task.values is not None:
        return task
    known = task.labelled.numpy()
    taught = known[parts_of(task, splitting.parts, known) != "test"]
    labels = task.labels.numpy()
    absent = sorted(set(labels[known].tolist()) - set(labels[taught].tolist()))
    if not absent:
        return task
    names = ", ".join(repr(task.class_names[label]) for label in absent[:5])
    note = f"WARNING: all known nodes of class {names} are to test: no model can learn to say it"
    return replace(task, notes=(*task.notes, note))


def with_split_notes(task: NodeTask, splitting: Splitting) -> NodeTask:
    """The task with notes on what its columns for splits may not have meant."""
    if splitting.groups is None:
        return with_untaught(task, splitting)
    names = dict.fromkeys(texts_of(task, splitting.groups, task.labelled.numpy()))
    where = f"column {splitting.groups!r}: groups"
    notes = []
    if pair := look_alike(names):
        notes.append(f"{where} {pair_in_words(pair)} are read as two groups")
    if pair := one_number(names):
        same = "though they are one number"
        notes.append(f"{where} {pair_in_words(pair)} are read as two groups, {same}")
    return replace(task, notes=(*task.notes, *notes))


def group_parts(groups: Sequence[str], parts: int, rng: np.random.Generator) -> Array:
    """A part number for each node, equal within a group; parts of about equal size."""
    names, code = np.unique(np.array(groups), return_inverse=True)
    if len(names) < parts:
        raise ValueError(f"groups must be at least {parts} different ones, got {len(names)}")
    sizes = np.bincount(code).astype(np.float64) + 0.01 * rng.random(len(names))
    filled, part = np.zeros(parts), np.zeros(len(names), dtype=np.int64)
    for group in np.argsort(-sizes):  # the largest first, each into the emptiest part
        part[group] = int(filled.argmin())
        filled[part[group]] += sizes[group]
    return part[code]


def moments(texts: Sequence[str], column: str) -> NDArray[np.float64]:
    """Times as numbers: plain numbers, or dates such as 2024-01-31 or 2024-01-31T12:00."""
    if all(map(MONTH.fullmatch, texts)):  # as numbers January 2024 would be before December 2023
        raise ValueError(f"column {column!r} must hold dates like 2024-01-31, got {texts[0]!r}")
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return dates(texts, column)
    if not np.isfinite(numbers).all():
        place = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise ValueError(f"column {column!r} must hold finite numbers, got {texts[place]!r}")
    return numbers


def dates(texts: Sequence[str], column: str) -> NDArray[np.float64]:
    """Dates as seconds."""
    try:
        return np.array([datetime.fromisoformat(text).timestamp() for text in texts])
    except ValueError as error:
        raise ValueError(
            f"column {column!r} must hold numbers or dates like 2024-01-31, got: {error}"
        ) from None


def cuts_in_time(when: NDArray[np.float64], places: Sequence[int], column: str) -> list[int]:
    """`places` of ascending times, each moved to the nearest one where the time changes.

    Nodes of one moment stay on one side of a cut. With fewer moments there are fewer cuts, from
    the latest place on; two are the fewest that train, choose and measure apart.
    """
    changes = np.flatnonzero(np.diff(when)) + 1
    count, top = min(len(changes), len(places)), len(changes)
    if count < 2:
        raise ValueError(
            f"column {column!r} must hold at least 3 different times to split by, "
            f"got {len(changes) + 1}"
        )
    cuts: list[int] = []
    for below, place in zip(range(count)[::-1], sorted(places)[::-1], strict=False):
        free = changes[below:top]  # an earlier cut needs a change of its own
        top = below + int(np.abs(free - place).argmin())
        cuts.insert(0, int(changes[top]))
    return cuts
