"""What is to be predicted: classes, or numbers, out of the rows of a label file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.data.labels import natural
from elasticgnn.data.own.ids import IdIndex
from elasticgnn.data.own.records import LabelRows
from elasticgnn.data.own.spelling import (
    look_alike,
    nothing_in_common,
    otherwise_written,
    pair_in_words,
    written,
)
from elasticgnn.data.own.table import is_missing, is_number, short
from elasticgnn.files import significant

Target = Literal["class", "number"]
TARGETS: tuple[Target, ...] = ("class", "number")
SIGNS = ("-", "--", "---", ".", "..", "…", "–", "—", "_", "*")  # often for what is not known
LARGEST = 1e100  # of numbers to predict, whose squares are summed
UNKNOWN = frozenset({"unknown", "unlabeled", "unlabelled", "undefined", "missing", "#n/a"})
MANY_CLASSES = 20  # more are checked for being numbers or ids


def number_values(labels: LabelRows, place: IdIndex, node_path: Path, fewest: int = 2) -> Tensor:
    """Each node's number (n,) float64, NaN where it is unknown."""
    values = torch.full((len(place),), torch.nan, dtype=torch.float64)
    nodes = labelled_nodes(labels, place, node_path)
    numbers = np.array([number_or_nan(name) for name in labels.names])
    known = np.array([name is not None for name in labels.names])
    bad = np.flatnonzero(known & ~(np.abs(numbers) <= LARGEST))  # a square must be finite, too
    if bad.size:
        row = int(bad[0])
        raise ValueError(
            f"{labels.path}, row {labels.line[row]}, column {labels.column}: "
            f"a target must be a finite number of at most {LARGEST:g}, "
            f"got {short(str(labels.names[row]))!r}"
        )
    values[torch.from_numpy(nodes)] = torch.from_numpy(numbers)
    count = len(np.unique(numbers[known]))
    if count < fewest:
        what = "1 number" if fewest == 1 else f"{fewest} different numbers"
        raise ValueError(
            f"{labels.path}, column {labels.column}: must hold at least {what}, got {count}"
        )
    return values


def one_spelling(labels: LabelRows) -> LabelRows:
    """Labels that are all numbers, with 1 and 1.0 as one class and a note that says so."""
    names = {name for name in labels.names if name is not None}
    if len(names) > 10_000 or not all(map(is_number, names)):
        return labels
    spelling: dict[float, str] = {}
    for name in sorted(names, key=lambda name: (len(name), name)):
        spelling.setdefault(float(name), name)
    twice = sorted(name for name in names if spelling.get(float(name), name) != name)
    if not twice:
        return labels
    other = spelling[float(twice[0])]
    note = f"{labels.path.name}: labels {twice[0]!r} and {other!r} are one class"
    kept = [None if name is None else spelling[float(name)] for name in labels.names]
    return replace(labels, names=kept, notes=(*labels.notes, note))


def without_unknown(labels: LabelRows) -> LabelRows:
    """Labels whose word for what is not known (UNKNOWN, or NA and the like) is None, with a note.

    It says so of NA, too: there are classes that are called none.
    """
    different = {name for name in labels.names if name is not None}
    strange = sorted(n for n in different if n.lower() in UNKNOWN or is_missing(n))
    if not strange:
        return labels
    names = [None if name in strange else name for name in labels.names]
    count = sum(name in strange for name in labels.names)
    text = " and ".join(map(repr, strange))
    note = f"{labels.path.name}: {count} labels {text} are read as not known, not as a class"
    return replace(labels, names=names, notes=(*labels.notes, note))


def number_or_nan(name: str | None) -> float:
    """The number that is written, else NaN."""
    return float(name) if name is not None and is_number(name) else float("nan")


def number_notes(labels: LabelRows, values: Tensor) -> tuple[str, ...]:
    """What was understood: how many numbers, and where they lie."""
    known = values[~values.isnan()]
    low, high = float(known.min()), float(known.max())
    ends = " to ".join(significant(end, 4, high - low) for end in (low, high))
    text = f"{len(known)} numbers to learn from, {ends}"
    return (*labels.notes, f"{labels.path.name}: column {labels.column} holds {text}")


def number_classes(
    labels: LabelRows | None, place: IdIndex, node_path: Path, fewest: int = 2
) -> tuple[tuple[str, ...], Tensor]:
    """Class names, numbers before words, and each node's class number or -1."""
    numbers = torch.full((len(place),), -1, dtype=torch.int64)
    if labels is None:
        return (), numbers
    nodes = labelled_nodes(labels, place, node_path)
    names = tuple(sorted({name for name in labels.names if name is not None}, key=natural))
    if len(names) < fewest:
        found = f"only {short(names[0])!r}" if names else "none"
        what = "1 class" if fewest == 1 else f"{fewest} classes"
        raise ValueError(
            f"{labels.path}, column {labels.column}: must name at least {what}, got {found}"
        )
    check_repeated(labels, names)
    number: dict[str | None, int] = {name: position for position, name in enumerate(names)}
    classes = [number.get(name, -1) for name in labels.names]
    numbers[torch.from_numpy(nodes)] = torch.tensor(classes)
    return names, numbers


def check_repeated(labels: LabelRows, names: tuple[str, ...]) -> None:
    """Refuses numbers to be predicted, or ids, that were given as class names."""
    known = sum(name is not None for name in labels.names)
    numbers = all(map(is_number, names))
    if len(names) <= MANY_CLASSES or (2 * len(names) <= known and not numbers):
        return
    where = f"{labels.path}, column {labels.column}"
    if numbers and (5 * len(names) > known or any(float(name) % 1 for name in names)):
        raise ValueError(
            f"{where}: must name classes, got {len(names)} different numbers for {known} nodes: "
            "a quantity, for which there is --target number (or cut it into ranges such as "
            "low, middle, high)"
        )
    if 2 * len(names) > known:
        raise ValueError(
            f"{where}: must name classes that several nodes share, "
            f"got {len(names)} different names for {known} nodes"
        )


def label_notes(labels: LabelRows | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """What else the label file holds, and names of classes that may not have been meant."""
    if labels is None:
        return ()
    doubts = (several_at_once(names), two_spellings(names), stand_in(names))
    return (*labels.notes, *(f"{labels.path.name}: {doubt}" for doubt in doubts if doubt))


def several_at_once(names: tuple[str, ...]) -> str:
    """That a name looks like several classes."""
    known = set(names)
    for sign in ("|", ";", ","):
        several = [n for n in names if sign in n and not known.isdisjoint(n.split(sign))]
        if several:
            text = f"labels such as {short(several[0])!r} are read as one class"
            return f"{text} each; every node has one class, not several"
    return ""


def two_spellings(names: tuple[str, ...]) -> str:
    """That names differ only in case, blanks, or what cannot be seen."""
    pair = look_alike(names)
    return f"labels {pair_in_words(pair)} are read as two classes" if pair else ""


def stand_in(names: tuple[str, ...]) -> str:
    """That -1 beside classes 0, 1, …, or a mere sign, is a class."""
    others = [name for name in names if name != "-1"]
    counted = 1 < len(others) < len(names) and all(map(str.isdigit, others))
    sign = next((name for name in names if name in SIGNS), None)
    found = "-1" if counted else None if "+" in names else sign
    if found is None:
        return ""
    return f"label {found!r} is read as a class (leave the cell empty where the class is not known)"


def labelled_nodes(labels: LabelRows, place: IdIndex, node_path: Path) -> NDArray[np.int64]:
    """The node of each row; refuses labels of nodes that are not in the graph."""
    found = place.find(labels.ids)
    if not len(found) or int(found.min()) >= 0:
        return found
    if int(found.max()) < 0:
        raise ValueError(
            f"{labels.path} must label nodes of {node_path}, "
            + nothing_in_common(labels.ids.tolist(), place.ids.tolist())
        )
    row = int(np.argmin(found))
    name = str(labels.ids[row])
    raise ValueError(
        f"{labels.path}, row {labels.line[row]}, column {labels.id_column}: "
        f"the node must be in {node_path}, got {written(name)}"
        + otherwise_written(name, place.ids.tolist())
    )
