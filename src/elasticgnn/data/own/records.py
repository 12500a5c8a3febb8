"""What the three kinds of files say, before it is fitted together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.features import SparseFeatures


@dataclass(frozen=True)
class EdgeRows:
    """One row per listed edge, by the ids of its ends; `line` is where it stands in the file."""

    path: Path
    source: list[str]
    target: list[str]
    weight: NDArray[np.float64] | None
    line: list[int]
    nodes: tuple[str, ...] | None = None  # every node, when the file itself lists them
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FeatureRows:
    """One row of numbers per node."""

    path: Path
    ids: list[str]
    values: Tensor | SparseFeatures


@dataclass(frozen=True)
class LabelRows:
    """One class name, or None, per listed node."""

    path: Path
    ids: list[str]
    names: list[str | None]
    line: list[int]
    column: str = "label"
    id_column: str = "id"


@dataclass(frozen=True)
class FileContent:
    """All that one file holds; a graph file may bring features and labels along."""

    edges: EdgeRows | None = None
    features: FeatureRows | None = None
    labels: LabelRows | None = None
