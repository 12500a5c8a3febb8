"""Edges, features and labels out of tables: which column is which, and is every cell usable."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data.own.records import EdgeRows, FeatureRows, LabelRows
from elasticgnn.data.own.table import (
    Table,
    is_missing,
    is_number,
    read_lines,
    short,
    with_header,
)
from elasticgnn.features import SparseFeatures

SOURCES = ("source", "src", "from", "tail", "node1", "id1", "u", "i", "a")
TARGETS = ("target", "dst", "to", "head", "node2", "id2", "v", "j", "b")
WEIGHTS = ("weight", "w", "edge_weight")
IDS = ("id", "node", "node_id", "name", "key", "index")
LABELS = ("label", "class", "y", "target", "category")
DENSE_SHARE = 0.25  # a table with fewer non-zero cells than this is kept sparse


def read_edge_table(path: Path) -> EdgeRows:
    """Columns source, target and, if there is one, weight."""
    table = read_lines(path)
    table = with_header(table, looks_like_edge_header(table))
    source, target, weight = edge_columns(table)
    return EdgeRows(
        path,
        end_cells(table, source),
        end_cells(table, target),
        None if weight is None else edge_weights(table, weight),
        list(table.line),
        notes=unused_columns(table, {source, target, weight}),
    )


def end_cells(table: Table, position: int) -> list[str]:
    """One end of every edge; none may be empty or stand for a missing value."""
    ids = [cells[position] for cells in table.rows]
    if any(map(is_missing, set(ids))):
        row = next(row for row, cell in enumerate(ids) if is_missing(cell))
        raise table.error(row, position, "a node id must be there")
    return ids


def unused_columns(table: Table, used: set[int | None]) -> tuple[str, ...]:
    """A note that names the columns nobody asked for, the first few of them."""
    unused = [position for position in range(table.width) if position not in used]
    if not unused:
        return ()
    names = ", ".join(table.column_name(position) for position in unused[:5])
    more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
    return (f"{table.path.name}: columns not used: {names}{more}",)


def looks_like_edge_header(table: Table) -> bool:
    """Known names, or words above columns of numbers.

    Single letters such as u, v are often ids: they are names only where no row below uses them.
    """
    first, others = table.rows[0], table.rows[1:]
    lowered = [cell.lower() for cell in first]
    words = {name for name in (*SOURCES, *TARGETS, *WEIGHTS) if len(name) > 1}
    if not words.isdisjoint(lowered):
        return True
    if others and lowered[0] in SOURCES and lowered[1] in TARGETS:
        return not any(cell in first[:2] for cells in others for cell in cells[:2])
    ends_are_words = not is_number(first[0]) and not is_number(first[1])
    numbers_below = all(is_number(cells[0]) and is_number(cells[1]) for cells in others)
    return bool(others) and ends_are_words and numbers_below


def edge_columns(table: Table) -> tuple[int, int, int | None]:
    """Positions of source, target and weight: by name, else the first two and a third."""
    if table.header is None:
        if table.width > 3:
            raise ValueError(
                f"{table.path}, row {table.line[0]}: columns must be source, target[, weight], "
                f"or be named in a header, got {table.width} columns"
            )
        return 0, 1, 2 if table.width == 3 else None
    source, target = find_column(table, SOURCES), find_column(table, TARGETS)
    if (source is None) != (target is None) or (source is None and table.width > 3):
        raise ValueError(
            f"{table.path}, row 1: the header must name the columns 'source' and 'target', "
            f"got {short(', '.join(table.header))!r} ({table.width} columns)"
        )
    weight = find_column(table, WEIGHTS)
    if source is None or target is None:
        source, target = 0, 1
        weight = 2 if table.width == 3 else None
    return source, target, weight


def find_column(table: Table, names: tuple[str, ...]) -> int | None:
    """Position of the first column that has one of the names, in the order of the names."""
    assert table.header is not None
    lowered = [name.lower() for name in table.header]
    return next((lowered.index(name) for name in names if name in lowered), None)


def edge_weights(table: Table, position: int) -> NDArray[np.float64]:
    """The weight column; every cell a finite number >= 0."""
    weights = np.empty(len(table.rows))
    for row, cells in enumerate(table.rows):
        try:
            weights[row] = float(cells[position])
        except ValueError:
            raise table.error(row, position, "weight must be a number") from None
        if not (math.isfinite(weights[row]) and weights[row] >= 0):
            raise table.error(row, position, "weight must be a finite number >= 0")
    return weights


def read_feature_table(path: Path) -> FeatureRows:
    """First column (or the one called id) names the node, all others are its numbers."""
    table = read_lines(path)
    first = table.rows[0]
    has_words = not all(is_number(cell) or is_missing(cell) for cell in first[1:])
    table = with_header(table, first[0].lower() in IDS or has_words)
    id_column = (find_column(table, IDS) if table.header else 0) or 0
    ids = id_cells(table, id_column)
    values = number_cells(table, id_column)
    share = np.count_nonzero(values) / max(values.size, 1)
    dense = torch.from_numpy(values)
    return FeatureRows(
        path, ids, dense if share > DENSE_SHARE else SparseFeatures.from_dense(dense)
    )


def id_cells(table: Table, position: int) -> list[str]:
    """The ids of one column; each there, and there once."""
    seen: dict[str, int] = {}
    for row, cells in enumerate(table.rows):
        cell = cells[position]
        if is_missing(cell):
            raise table.error(row, position, "a node id must be there")
        if cell in seen:
            raise table.error(
                row, position, f"each node must have one row (row {seen[cell]} has it too)"
            )
        seen[cell] = table.line[row]
    return list(seen)


def number_cells(table: Table, id_column: int) -> NDArray[np.float32]:
    """All other columns as finite numbers (n, f)."""
    kept = [position for position in range(table.width) if position != id_column]
    try:
        rows = [cells[:id_column] + cells[id_column + 1 :] for cells in table.rows]
        values = np.array(rows, dtype=np.float64)
    except ValueError:
        raise first_bad_number(table, kept) from None
    if not (np.abs(values) <= np.finfo(np.float32).max).all():
        raise first_bad_number(table, kept)
    return values.astype(np.float32)


def first_bad_number(table: Table, positions: list[int]) -> ValueError:
    limit = float(np.finfo(np.float32).max)
    for row, cells in enumerate(table.rows):
        for position in positions:
            cell = cells[position]
            if not is_number(cell) or not abs(float(cell)) <= limit:
                return table.error(row, position, "a feature must be a finite number")
    return ValueError(f"{table.path} must hold numbers")


def read_label_table(path: Path) -> LabelRows:
    """Columns id and label; an empty label is an unknown one."""
    table = read_lines(path)
    first = [cell.lower() for cell in table.rows[0]]
    others = [cells[0] for cells in table.rows[1:]]
    numbered = bool(others) and all(map(is_number, others))
    named = first[0] in IDS or any(cell in LABELS for cell in first[1:])
    table = with_header(table, named or (numbered and not is_number(first[0])))
    id_column, label_column = label_columns(table)
    ids = id_cells(table, id_column)
    names = [cells[label_column] for cells in table.rows]
    return LabelRows(
        path,
        ids,
        [None if is_missing(name) else name for name in names],
        list(table.line),
        table.column_name(label_column),
        table.column_name(id_column),
    )


def label_columns(table: Table) -> tuple[int, int]:
    """Positions of id and label: by name, else the first and the second of two."""
    id_column = (find_column(table, IDS) if table.header else 0) or 0
    if table.width == 2:
        return id_column, 1 - id_column
    label = find_column(table, LABELS) if table.header else None
    if label is None or label == id_column:
        raise ValueError(
            f"{table.path}, row 1: columns must be id and label, or one must be called 'label', "
            f"got {table.width} columns"
        )
    return id_column, label
