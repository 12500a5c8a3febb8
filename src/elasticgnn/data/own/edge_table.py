"""Edges out of tables: which columns are the ends, and is every cell usable."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data.own.arrow_csv import PlainFile, open_plain
from elasticgnn.data.own.ids import Ids, id_array
from elasticgnn.data.own.layout import USUAL, TableLayout, chosen, find_name, headed, unused_columns
from elasticgnn.data.own.records import EdgeRows
from elasticgnn.data.own.table import (
    Table,
    is_missing,
    is_number,
    open_parquet,
    plain_name,
    read_lines,
    short,
)
from elasticgnn.data.own.text import table_ending
from elasticgnn.extras import optional_imports

if TYPE_CHECKING:
    import pyarrow

SOURCES = ("source", "src", "from", "tail", "node1", "id1", "origin", "u", "i", "a")
TARGETS = ("target", "dst", "to", "head", "node2", "id2", "destination", "v", "j", "b")
WEIGHTS = ("weight", "w", "edge_weight")
ROWS = ("", "unnamed: 0", "index", "level_0")  # as pandas names the column of row numbers


def read_edge_table(path: Path, layout: TableLayout = USUAL) -> EdgeRows:
    """Columns source, target and, if there is one, weight."""
    quick = read_typed_edges(path, layout)
    if quick is not None:
        return quick
    table = read_lines(path, layout.encoding)
    wanted = (layout.source, layout.target, layout.weight)
    table = headed(table, looks_like_edge_header(table), wanted)
    source, target, weight = edge_columns(table, layout)
    notes = () if layout.source else doubtful_header(table, source, target)
    weights = None if weight is None else edge_weights(table, weight)
    if table.header is None and weights is not None:
        notes = (*notes, weights_by_place(path, weights))
    return EdgeRows(
        path,
        id_array(end_cells(table, source)),
        id_array(end_cells(table, target)),
        weights,
        table.line,
        notes=(*table.notes, *notes, *unused_columns(table, {source, target, weight})),
        columns=(table.column_name(source), table.column_name(target)),
    )


def read_typed_edges(path: Path, layout: TableLayout) -> EdgeRows | None:
    """The edges of a Parquet file or a large plain CSV file whose columns are beyond doubt."""
    if layout.encoding is not None or layout.weight is not None:
        return None
    if table_ending(path) == ".parquet":
        content = open_parquet(path)
        return edges_of_columns(path, content, tuple(content.column_names), 1, layout)
    plain = open_plain(path)
    if plain is None:
        return None
    header = tuple(map(plain_name, plain.first))
    named = has_words(header, SOURCES) and has_words(header, TARGETS)
    numbered = len(header) in (2, 3) and all(map(is_number, header))
    if not (numbered or named or layout.source is not None):
        return None
    table = numbers_or_texts(plain, has_header=not numbered)
    if table is None:
        return None
    first = plain.line + (not numbered)
    names = header if not numbered else ("source", "target", "weight")[: len(header)]
    found = edges_of_columns(path, table, names, first, layout)
    return found and by_place(found) if numbered else found


def by_place(edges: EdgeRows) -> EdgeRows:
    """The edges of columns without names: these are called by their number."""
    notes = () if edges.weight is None else (weights_by_place(edges.path, edges.weight),)
    return replace(edges, notes=(*edges.notes, *notes), columns=("1", "2"))


def has_words(header: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether a column has one of the names; a single letter such as u is as often an id."""
    return find_name(header, tuple(name for name in names if len(name) > 1)) is not None


def numbers_or_texts(plain: PlainFile, *, has_header: bool) -> pyarrow.Table | None:
    """The columns, numbers as text where one is written as no other way of writing gives."""
    texts = plain.first if has_header else [str(k) for k in range(len(plain.first))]
    if not plain.has_leading_zeros():
        return plain.table(has_header=has_header)
    ends = [name for name in texts if plain_name(name).lower() not in WEIGHTS]
    return plain.table(has_header=has_header, texts=ends)


def edges_of_columns(
    path: Path, content: pyarrow.Table, header: tuple[str, ...], first_row: int, layout: TableLayout
) -> EdgeRows | None:
    """Edges out of typed columns that are named; None where anything is unusual."""
    table = Table(path, header, [[""] * len(header)], [1])
    source, target = ends_by_name(table, layout)
    weight = chosen(table, layout.weight, WEIGHTS)
    if source is None or target is None:
        return None
    ends = [typed_ids(content.column(position)) for position in (source, target)]
    weights = None if weight is None else typed_weights(content.column(weight))
    if ends[0] is None or ends[1] is None or (weight is not None and weights is None):
        return None
    line = range(first_row, first_row + content.num_rows)
    notes = unused_columns(table, {source, target, weight})
    columns = (table.column_name(source), table.column_name(target))
    return EdgeRows(path, ends[0], ends[1], weights, line, notes=notes, columns=columns)


def typed_ids(column: pyarrow.ChunkedArray) -> Ids | None:
    """Whole numbers or text as ids (n,); None where one is missing or has blanks around it."""
    with optional_imports():
        import pyarrow

    if column.null_count:
        return None
    if pyarrow.types.is_integer(column.type):
        numbers: Ids = column.to_numpy().astype(np.int64, copy=False)
        return numbers if len(numbers) and int(numbers.min()) >= 0 else None
    if not (pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type)):
        return None
    plain = plain_numbers(column)
    if plain is not None:
        return plain
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pyarrow.ChunkedArray) else coded
    words = coded.dictionary.to_pylist()
    if any(is_missing(word) or word != word.strip() for word in words):
        return None
    ids: Ids = id_array(words)[coded.indices.to_numpy()]
    return ids


def plain_numbers(column: pyarrow.ChunkedArray) -> Ids | None:
    """Whole numbers >= 0 that are written as text in the plainest way; else None."""
    with optional_imports():
        import pyarrow

    try:
        numbers = column.cast("int64")
    except pyarrow.ArrowException:
        return None
    ids: Ids = numbers.to_numpy()
    same = numbers.cast(column.type).equals(column)
    return ids if same and len(ids) and int(ids.min()) >= 0 else None


def typed_weights(column: pyarrow.ChunkedArray) -> NDArray[np.float64] | None:
    """Finite numbers >= 0 (n,); None where the column holds anything else."""
    with optional_imports():
        import pyarrow

    is_number_type = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    if not is_number_type or column.null_count:
        return None
    values: NDArray[np.float64] = column.to_numpy().astype(np.float64)
    return values if bool((np.isfinite(values) & (values >= 0)).all()) else None


def end_cells(table: Table, position: int) -> list[str]:
    """One end of every edge; none may be empty or stand for a missing value."""
    ids = [cells[position] for cells in table.rows]
    if any(map(is_missing, set(ids))):
        row = next(row for row, cell in enumerate(ids) if is_missing(cell))
        raise table.error(row, position, "a node id must be there")
    return ids


def weights_by_place(path: Path, weights: NDArray[np.float64]) -> str:
    """A note on weights that no header calls so: times and ids look different."""
    span = f"{weights.min():.4g} to {weights.max():.4g}"
    return f"{path.name}: column 3 is read as the weight ({span})"


def doubtful_header(table: Table, source: int, target: int) -> tuple[str, ...]:
    """A note on columns taken by their place, or on a first row that may have been a header."""
    if table.header is not None:
        return columns_by_place(table, source, target)
    if len(table.rows) < 3:
        return ()
    first = table.rows[0]
    if any(map(is_number, first[:2])) or occurs_below(table, first):
        return ()
    pair = f"{short(first[0])!r} and {short(first[1])!r}"
    return (f"{table.path.name}: row {table.line[0]} is read as an edge between {pair}",)


def columns_by_place(table: Table, source: int, target: int) -> tuple[str, ...]:
    """What the columns of a header without known names were read as."""
    assert table.header is not None
    if find_name(table.header, SOURCES) is not None:
        return ()
    names = ", ".join(table.column_name(position) for position in (source, target))
    return (f"{table.path.name}: columns {names} are read as source, target",)


def occurs_below(table: Table, first: list[str]) -> bool:
    """Whether an end of the first row is an end of another one."""
    return any(cell in first[:2] for cells in table.rows[1:] for cell in cells[:2])


def looks_like_edge_header(table: Table) -> bool:
    """Known names, or words above columns of numbers or of ids that all have a digit.

    Single letters such as u, v are often ids: they are names only where no row below uses them.
    """
    first, others = table.rows[0], table.rows[1:]
    lowered = [cell.lower() for cell in first]
    if {plain_name(cell) for cell in first} & {"source", "target"}:
        return True
    words = {name for name in (*SOURCES, *TARGETS, *WEIGHTS) if len(name) > 1}
    if not words.isdisjoint(lowered):
        return True
    if others and lowered[0] in SOURCES and lowered[1] in TARGETS:
        return not occurs_below(table, first)
    ends_are_words = not is_number(first[0]) and not is_number(first[1])
    if not others or not ends_are_words:
        return False
    if all(is_number(cells[0]) and is_number(cells[1]) for cells in others):
        return True
    plain = first[0] != first[1] and not any(map(has_digit, first[:2]))
    return plain and all(has_digit(cells[0]) and has_digit(cells[1]) for cells in others)


def has_digit(cell: str) -> bool:
    """Whether a digit is among the letters."""
    return any(letter.isdigit() for letter in cell)


def edge_columns(table: Table, layout: TableLayout) -> tuple[int, int, int | None]:
    """Positions of source, target and weight: by name, else by place.

    Without a header a third column is the weight. Below a header it is only if it is called so:
    an amount, a time or a number of the row would be a weight that nobody meant.
    """
    if table.header is None:
        if table.width > 3:
            raise ValueError(
                f"{table.path}, row {table.line[0]}: columns must be source, target[, weight], "
                f"or be named in a header, got {table.width} columns"
            )
        return 0, 1, 2 if table.width == 3 else None
    source, target = ends_by_name(table, layout)
    weight = chosen(table, layout.weight, WEIGHTS)
    if source is not None and target is not None:
        return source, target, weight
    others = [k for k in range(table.width) if k != weight and table.header[k].lower() not in ROWS]
    in_doubt = len(others) > 2 and (table.width > 3 or never_repeats(table, others[0]))
    if source is not None or target is not None or in_doubt or len(others) < 2:
        raise ValueError(
            f"{table.path}, row 1: the header must name the columns 'source' and 'target' "
            f"(--source-column and --target-column say which they are), "
            f"got {short(', '.join(table.header))!r} ({table.width} columns)"
        )
    return others[0], others[1], weight


def ends_by_name(table: Table, layout: TableLayout) -> tuple[int | None, int | None]:
    """Source and target as asked for, or by their usual names.

    Names that belong together go first: in `from,to,source` the last column says who reported an
    edge, in `a,b,target` what became of it.
    """
    lowered = {name.lower() for name in table.header or ()}
    pairs = [(a, b) for a, b in zip(SOURCES, TARGETS, strict=True) if {a, b} <= lowered]
    sources, targets = ((pairs[0][0],), (pairs[0][1],)) if pairs else (SOURCES, TARGETS)
    return chosen(table, layout.source, sources), chosen(table, layout.target, targets)


def never_repeats(table: Table, position: int) -> bool:
    """Whether all cells of a column differ, as the ids of rows do and those of nodes do not."""
    cells = [cells[position] for cells in table.rows]
    return len(cells) > 2 and len(set(cells)) == len(cells)


def edge_weights(table: Table, position: int) -> NDArray[np.float64]:
    """The weight column; every cell a finite number >= 0."""
    weights = np.empty(len(table.rows))
    for row, cells in enumerate(table.rows):
        if not is_number(cells[position]):
            raise table.error(row, position, "weight must be a number")
        weights[row] = float(cells[position])
        if not (math.isfinite(weights[row]) and weights[row] >= 0):
            raise table.error(row, position, "weight must be a finite number >= 0")
    return weights
