"""Features out of tables: which column is the id, and is there a header."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elasticgnn.data.own.arrow_csv import open_plain
from elasticgnn.data.own.columns import ArrowColumns, Columns, TextColumns
from elasticgnn.data.own.edge_table import typed_ids
from elasticgnn.data.own.feature_matrix import feature_matrix
from elasticgnn.data.own.ids import Ids, all_differ, id_array
from elasticgnn.data.own.layout import USUAL, TableLayout, chosen, find_name, guessed_id, headed
from elasticgnn.data.own.records import FeatureRows
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

IDS = ("id", "node", "node_id", "name", "key", "index")


def read_feature_table(path: Path, layout: TableLayout = USUAL) -> FeatureRows:
    """First column (or the one called id) names the node, all others describe it."""
    quick = read_typed_features(path, layout)
    if quick is not None:
        return quick
    table = read_lines(path, layout.encoding)
    table = headed(table, looks_like_feature_header(table), (layout.id,))
    id_column = chosen(table, layout.id, IDS) or 0
    ids = id_array(id_cells(table, id_column))
    found = features_beside(TextColumns(table), ids, id_column, table.width, layout)
    return with_notes(found, (*table.notes, *guessed_id(table, id_column, layout.id, IDS)))


def with_notes(found: FeatureRows, notes: tuple[str, ...]) -> FeatureRows:
    """The features with `notes` before their own."""
    from dataclasses import replace

    return replace(found, notes=(*notes, *found.notes)) if notes else found


def features_beside(
    columns: Columns, ids: Ids, id_column: int, width: int, layout: TableLayout
) -> FeatureRows:
    """All columns but the id, those that were named for the labels, and those no model knows."""
    names = columns.names
    kept = [k for k in range(width) if k != id_column]
    if names is None:
        return feature_matrix(columns, ids, kept)
    others = {plain_name(name).lower() for name in (layout.label, *layout.further) if name}
    kept = [k for k in kept if names[k].lower() not in others]
    wanted = set(names if layout.features is None else layout.features)
    known = [k for k in kept if names[k] in wanted]
    if not known or len(known) == len(kept):
        return feature_matrix(columns, ids, kept)
    strange = ", ".join(names[k] for k in kept if names[k] not in wanted)
    note = f"feature columns the model does not know are left out: {short(strange)}"
    return with_notes(feature_matrix(columns, ids, known), (note,))


def read_typed_features(path: Path, layout: TableLayout) -> FeatureRows | None:
    """The features of a Parquet file or of a large plain CSV file."""
    if layout.encoding is not None:
        return None
    if table_ending(path) == ".parquet":
        return parquet_features(path, layout)
    plain = open_plain(path)
    if plain is None:
        return None
    header = tuple(map(plain_name, plain.first))
    has_header = looks_like_header(header)
    if has_header and any(is_number(cell) for cell in header):
        return None
    id_column = 0
    if has_header:
        id_column = chosen(Table(path, header, [], []), layout.id, IDS) or 0
    name = plain.first[id_column] if has_header else str(id_column)
    content = plain.table(has_header=has_header, texts=[name], has_holes=True)
    if content is None or (has_header and not names_columns(content, header, layout)):
        return None
    ids = typed_ids(content.column(id_column))
    if ids is None or not all_differ(ids):
        return None
    columns = ArrowColumns(path, content, plain.line + has_header)
    columns.names = header if has_header else None
    try:
        found = features_beside(columns, ids, id_column, len(header), layout)
    except ValueError:  # the careful reader says what is wrong, and in which row
        return None
    table = Table(path, columns.names, [], [])
    return with_notes(found, (*guessed_id(table, id_column, layout.id, IDS),))


def looks_like_header(cells: tuple[str, ...]) -> bool:
    """Whether a first row has a word beside its id, or a usual name of ids."""
    has_word = not all(is_number(cell) or is_missing(cell) for cell in cells[1:])
    return has_word or cells[0].lower() in IDS


def names_columns(content: pyarrow.Table, header: tuple[str, ...], layout: TableLayout) -> bool:
    """Whether a first row is beyond doubt no row of data: it has a usual name of ids, or its words
    stand above numbers, or nowhere below in a column of words."""
    if layout.id is not None or find_name(header, IDS) is not None:
        return True
    with optional_imports():
        from pyarrow import compute, types

    for word, column in list(zip(header, content.columns, strict=True))[1:]:
        if types.is_boolean(column.type):
            return False
        if types.is_string(column.type):
            cells = compute.utf8_trim_whitespace(column)
            if compute.any(compute.equal(cells, word)).as_py():
                return False
    return True


def parquet_features(path: Path, layout: TableLayout) -> FeatureRows:
    """The features of a Parquet file."""
    content = open_parquet(path)
    columns = ArrowColumns(path, content)
    header = tuple(content.column_names)
    named = Table(path, header, [], [])
    id_column = chosen(named, layout.id, IDS) or 0
    ids = typed_ids(content.column(id_column))
    if ids is None or not all_differ(ids):
        rows = [[text] for text in columns.words(id_column)]
        table = Table(path, (header[id_column],), rows, range(1, len(rows) + 1))
        ids = id_array(id_cells(table, 0))
    found = features_beside(columns, ids, id_column, len(header), layout)
    return with_notes(found, (*guessed_id(named, id_column, layout.id, IDS),))


def looks_like_feature_header(table: Table) -> bool:
    """A known name of ids above the first column, or words that no row below repeats."""
    first = table.rows[0]
    if plain_name(first[0]).lower() in IDS or find_name(tuple(first), IDS) is not None:
        return True
    words = [k for k, cell in enumerate(first) if k and not (is_number(cell) or is_missing(cell))]
    if not words:
        return False
    # in a row of data some cells are numbers, or a word stands again further down
    if len(words) < len(first) - 1 and "" not in first[1:]:
        return not any(map(is_number, first[1:]))
    return not any(cells[k] == first[k] for cells in table.rows[1:] for k in words)


def id_cells(table: Table, position: int) -> list[str]:
    """The ids of one column; each there, and there once."""
    seen: dict[str, int] = {}
    for row, cells in enumerate(table.rows):
        cell = cells[position]
        if is_missing(cell):
            raise table.error(row, position, "a node id must be there")
        if cell in seen:
            once = f"row {seen[cell]} has it too{why_id(table, position)}"
            raise table.error(row, position, f"each node must have one row ({once})")
        seen[cell] = table.line[row]
    return list(seen)


def why_id(table: Table, position: int) -> str:
    """Why the column is taken for the ids, where that is a guess."""
    if table.header is None:
        return f"; column {position + 1} is read as the id"
    usual = table.header[position].lower() in IDS
    return "" if usual else "; --id-column names another column of ids"
