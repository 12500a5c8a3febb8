"""The columns of a feature file as one matrix: numbers as they are, words as columns of 0 and 1."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data.own.arrow_csv import has_pyarrow
from elasticgnn.data.own.columns import (
    Columns,
    Numbers,
    all_finite,
    check_finite,
    codes_of,
    counts_rows,
    ends_of,
    numbers_rows,
)
from elasticgnn.data.own.edge_table import ROWS
from elasticgnn.data.own.ids import Ids
from elasticgnn.data.own.records import FeatureRows
from elasticgnn.data.own.table import short
from elasticgnn.extras import optional_imports
from elasticgnn.features import SparseFeatures

CLASS_COLUMNS = ("label", "class")
DENSE_SHARE = 0.25  # a table with fewer non-zero cells than this is kept sparse
BLOCK = 4096  # rows
LARGE_MATRIX = 1_000_000  # values from which on several threads fill it
INDEX = re.compile(r"|unnamed: \d+|level_\d+|__index_level_\d+__")  # as pandas calls its own
LOST = 0.001  # of a column's range, which float32 may lose without a note
MOST_WORDS = 100  # different ones of a column, beyond which they are names and no categories


def feature_matrix(columns: Columns, ids: Ids, kept: Sequence[int]) -> FeatureRows:
    """The columns at `kept` as numbers (n, f), kept sparse where most are 0.

    A missing number is the column's median, a missing word has 0 in all columns of its category;
    notes say what was filled in, and which columns cannot be used.
    """
    builder = MatrixBuilder(columns)
    for position in kept:
        if not builder.is_left_out(position):
            builder.add(position)
    return builder.rows(ids)


class MatrixBuilder:
    """Collects columns; numbers stay as they are until the matrix is filled."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.parts: list[tuple[str, NDArray[np.generic]]] = []
        self.categories: list[str] = []
        self.notes: list[str] = []
        self.empty: list[tuple[int, str, NDArray[np.int64]]] = []

    def name(self, position: int) -> str:
        """The name of a column, or its number."""
        names = self.columns.names
        return f"column {position + 1}" if names is None else names[position]

    def note(self, position: int, text: str) -> None:
        """Says something about a column."""
        where = f"{self.columns.path.name}: column {short(self.name(position))!r}"
        self.notes.append(f"{where} {text}")

    def is_left_out(self, position: int) -> bool:
        """Whether the column is no feature by its name: row numbers, or the classes themselves."""
        name = self.name(position).lower()
        if name in ROWS and counts_rows(self.columns, position):
            self.note(position, "counts the rows and is not used")
        elif INDEX.fullmatch(name) and numbers_rows(self.columns, position):
            self.note(position, "numbers rows and is not used")
        elif name in CLASS_COLUMNS and self.columns.names is not None:
            self.note(position, "names classes and is no feature (use --labels for it)")
        else:
            return False
        return True

    def add(self, position: int) -> None:
        """Takes a column: its numbers, or one column per word."""
        numbers = self.columns.numbers(position)
        if numbers is None:
            self.add_words(position)
            return
        ends = ends_of(numbers)
        if all_finite(numbers, ends):
            self.take(position, numbers, ends)
            return
        check_finite(self.columns, numbers, position)
        holes = np.flatnonzero(np.isnan(numbers))
        if len(holes) == len(numbers):
            self.note(position, "is empty and is not used")
            return
        if len(holes):
            self.empty.append((len(self.parts), self.name(position), holes))
            median = np.nanmedian(numbers.astype(np.float64))  # two large ones are added up
            numbers = np.where(np.isnan(numbers), median, numbers)
        self.take(position, numbers, ends and ends_of(numbers))

    def take(self, position: int, numbers: Numbers, ends: tuple[float, float] | None) -> None:
        """Keeps numbers; says so where they are too near to each other for their size."""
        self.parts.append((self.name(position), numbers))
        low, high = ends or (0.0, 0.0)
        step = max(-low, high) * float(np.finfo(np.float32).eps)
        if step > LOST * (high - low) > 0:
            text = f"({low:.10g} to {high:.10g}) that are too near to each other for their size: "
            text += f"differences below {step:.2g} are lost (subtract a fixed number)"
            self.note(position, f"holds numbers {text}")

    def add_words(self, position: int) -> None:
        """Takes a column of words: one column of 0 and 1 for each, unless they are too many."""
        codes, words = codes_of(self.columns.words(position))
        known = int((codes >= 0).sum())
        if len(words) > MOST_WORDS or (len(words) > 10 and 2 * len(words) > known):
            text = f"has {len(words)} different words for {known} nodes and is not used"
            self.note(position, text)
            return
        self.categories.append(self.name(position))
        self.note(position, f"is read as a category of {len(words)} words")
        for code, word in enumerate(words):
            self.parts.append((f"{self.name(position)}={word}", codes == code))

    def rows(self, ids: Ids) -> FeatureRows:
        """The matrix of all columns that were taken."""
        if not self.parts:
            raise ValueError(
                f"{self.columns.path} must have columns of numbers beside the id, got none"
                + (f" ({self.notes[-1].partition(': ')[2]})" if self.notes else "")
            )
        values = side_by_side([part for _, part in self.parts], self.columns.count)
        names = tuple(name for name, _ in self.parts)
        named = self.columns.names is not None or bool(self.categories)
        return FeatureRows(
            self.columns.path,
            ids,
            stored(values),
            names if named else None,
            (*self.notes, *self.filled()),
            tuple(self.categories),
            self.missing(),
        )

    def missing(self) -> torch.Tensor | None:
        """Row and column of the cells that were filled (k, 2)."""
        if not self.empty:
            return None
        pairs = [np.stack([rows, np.full_like(rows, place)], 1) for place, _, rows in self.empty]
        return torch.from_numpy(np.concatenate(pairs))

    def filled(self) -> list[str]:
        """A note on the missing numbers."""
        if not self.empty:
            return []
        cells = sum(len(rows) for _, _, rows in self.empty)
        names = ", ".join(repr(short(name)) for _, name, _ in self.empty[:5])
        more = f" and {len(self.empty) - 5} more" if len(self.empty) > 5 else ""
        text = f"{cells} missing numbers of {names}{more} are set to the column's median"
        text += " (by a trained model: to that of its training)"
        return [f"{self.columns.path.name}: {text}"]


def side_by_side(parts: Sequence[NDArray[np.generic]], count: int) -> NDArray[np.float32]:
    """Columns as a matrix (count, columns), filled by blocks of rows that stay in the cache."""
    values = np.empty((count, len(parts)), dtype=np.float32)
    starts = range(0, count, BLOCK)
    if values.size >= LARGE_MATRIX and is_batch(parts):
        fill_by_threads(values, parts, starts)
        return values
    for start in starts:
        rows = slice(start, start + BLOCK)
        for place, part in enumerate(parts):
            values[rows, place] = part[rows]
    return values


def is_batch(parts: Sequence[NDArray[np.generic]]) -> bool:
    """Whether pyarrow can put the columns side by side: numbers of one kind, without gaps."""
    kinds = {part.dtype for part in parts}
    usual = len(kinds) == 1 and kinds.pop().kind in "fiu"
    return usual and has_pyarrow() and all(part.flags.c_contiguous for part in parts)


def fill_by_threads(
    values: NDArray[np.float32], parts: Sequence[NDArray[np.generic]], starts: range
) -> None:
    """Fills blocks of rows by pyarrow's loops, which do not hold Python's lock as numpy's do."""
    with optional_imports():
        import pyarrow

    names = [str(place) for place in range(len(parts))]
    batch = pyarrow.RecordBatch.from_arrays([pyarrow.array(part) for part in parts], names)

    def fill(start: int) -> None:
        block = batch.slice(start, BLOCK).to_tensor(row_major=True)
        values[start : start + BLOCK] = block.to_numpy()

    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        deque(threads.map(fill, starts), maxlen=0)


def stored(values: NDArray[np.float32]) -> torch.Tensor | SparseFeatures:
    """Sparse where most values are 0."""
    dense = torch.from_numpy(values)
    return SparseFeatures.from_dense(dense) if is_mostly_zero(values) else dense


def is_mostly_zero(values: NDArray[np.float32]) -> bool:
    """Whether at most DENSE_SHARE of the values are not 0; counted only until that is decided."""
    most, count = DENSE_SHARE * values.size, 0
    for start in range(0, len(values), BLOCK):
        count += int(np.count_nonzero(values[start : start + BLOCK] != 0))  # quicker to compare
        if count > most:
            return False
    return True
