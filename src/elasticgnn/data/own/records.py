"""What the three kinds of files say, before it is fitted together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.data.own.ids import Ids, id_array
from elasticgnn.data.own.table import short
from elasticgnn.features import SparseFeatures


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """One row per listed edge, by the ids of its ends; `line` is where it stands in the file."""

    path: Path
    source: Ids
    target: Ids
    weight: NDArray[np.float64] | None
    line: Sequence[int]
    nodes: Ids | None = None  # every node, when the file itself lists them
    notes: tuple[str, ...] = ()
    columns: tuple[str, str] = ("'source'", "'target'")  # of both ends, as messages name them


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """One row of numbers per node.

    categories: columns of words, each of whose values has a column `name=value` of 0 and 1;
    missing (k, 2): row and column of cells that were empty and hold the column's median.
    """

    path: Path
    ids: Ids
    values: Tensor | SparseFeatures
    names: tuple[str, ...] | None = None  # of the columns, where the file names them
    notes: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    missing: Tensor | None = None


class CodedNames(Sequence[str | None]):
    """Names of which many are equal: `words`, and the place among them of each row's (n,)."""

    def __init__(self, words: Sequence[str | None], codes: NDArray[np.integer[Any]]) -> None:
        self.words, self.codes = words, codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, row: int) -> str | None: ...
    @overload
    def __getitem__(self, row: slice) -> CodedNames: ...
    def __getitem__(self, row: int | slice) -> str | CodedNames | None:
        if isinstance(row, slice):
            return CodedNames(self.words, self.codes[row])
        return self.words[self.codes[row]]

    def __iter__(self) -> Iterator[str | None]:
        return map(self.words.__getitem__, self.codes.tolist())


@dataclass(frozen=True, eq=False)
class LabelRows:
    """One class name, or None, per listed node; extra: further columns that were asked for."""

    path: Path
    ids: Ids
    names: Sequence[str | None]
    line: Sequence[int]
    column: str = "label"
    id_column: str = "id"
    notes: tuple[str, ...] = ()
    extra: dict[str, list[str]] | None = None


@dataclass(frozen=True, eq=False)
class FileContent:
    """All that one file holds; a graph file may bring features and labels along."""

    edges: EdgeRows | None = None
    features: FeatureRows | None = None
    labels: LabelRows | None = None


def finite_rows(
    path: Path, nodes: Mapping[str, Mapping[str, Any]], names: list[str], rows: list[list[float]]
) -> FeatureRows:
    """The numbers of the attributes `names` of each node; ValueError names one that is none."""
    values = torch.tensor(rows, dtype=torch.float32)
    bad = (~values.isfinite()).nonzero().tolist()
    if bad:
        node, name = list(nodes)[bad[0][0]], names[bad[0][1]]
        raise ValueError(
            f"{path}, node {short(node)!r}, attribute {short(name)!r}: must be a finite number, "
            f"got {short(str(nodes[node][name]))!r}"
        )
    return FeatureRows(path, id_array(nodes), values, tuple(names))
