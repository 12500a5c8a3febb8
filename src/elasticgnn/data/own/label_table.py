"""Labels out of tables: which columns are the id and the label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elasticgnn.data.own.arrow_csv import open_plain
from elasticgnn.data.own.columns import coded_texts
from elasticgnn.data.own.edge_table import has_digit, typed_ids
from elasticgnn.data.own.feature_table import IDS, id_cells
from elasticgnn.data.own.ids import all_differ, id_array
from elasticgnn.data.own.layout import (
    USUAL,
    TableLayout,
    chosen,
    guessed_id,
    headed,
    position_of,
    unused_columns,
)
from elasticgnn.data.own.records import CodedNames, LabelRows
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

if TYPE_CHECKING:
    import pyarrow

LABELS = ("label", "class", "y", "target", "category", "value")
AS_LABELS = " as labels"  # one table may hold the features too
SPELLINGS = tuple(form for name in LABELS for form in (name, name.title(), name.upper()))


def read_label_table(path: Path, layout: TableLayout = USUAL) -> LabelRows:
    """Columns id and label; an empty label is an unknown one."""
    quick = read_typed_labels(path, layout)
    if quick is not None:
        return quick
    table = read_lines(path, layout.encoding)
    wanted = (layout.id, layout.label, *layout.further)
    table = headed(table, looks_like_label_header(table), wanted)
    id_column, label_column = label_columns(table, layout)
    further = {name: position_of(table, name) for name in layout.further}
    used: set[int | None] = {id_column, label_column, *further.values()}
    names = [cells[label_column] for cells in table.rows]
    return LabelRows(
        path,
        id_array(id_cells(table, id_column)),
        [name or None for name in names],
        table.line,
        table.column_name(label_column),
        table.column_name(id_column),
        (
            *table.notes,
            *guessed_id(table, id_column, layout.id, IDS),
            *unused_columns(table, used, AS_LABELS),
        ),
        {name: [cells[k] for cells in table.rows] for name, k in further.items()},
    )


def read_typed_labels(path: Path, layout: TableLayout) -> LabelRows | None:
    """The labels of a Parquet file or of a large CSV file whose columns are beyond doubt."""
    if layout.encoding is not None or layout.further:
        return None
    if table_ending(path) == ".parquet":
        content = open_parquet(path, coded=[layout.label] if layout.label else SPELLINGS)
        return labels_of_columns(path, content, tuple(content.column_names), 1, layout)
    plain = open_plain(path)
    if plain is None:
        return None
    header = tuple(map(plain_name, plain.first))
    columns = named_columns(path, header, layout)
    if columns is None:
        return None
    place, label = (plain.first[k] for k in columns)
    texts = [place] if plain.has_leading_zeros() else []
    table = plain.table(has_header=True, texts=texts, coded=[label])
    first = plain.line + 1
    return None if table is None else labels_of_columns(path, table, header, first, layout)


def named_columns(
    path: Path, header: tuple[str, ...], layout: TableLayout
) -> tuple[int, int] | None:
    """Positions of id and label where the header, or the layout, names them both; else None."""
    table = Table(path, header, [], [])
    place, label = chosen(table, layout.id, IDS), chosen(table, layout.label, LABELS)
    return None if place is None or label is None or place == label else (place, label)


def labels_of_columns(
    path: Path, content: pyarrow.Table, header: tuple[str, ...], first_row: int, layout: TableLayout
) -> LabelRows | None:
    """Labels out of typed columns; None where anything is unusual."""
    columns = named_columns(path, header, layout)
    if columns is None:
        return None
    place, label = columns
    ids = typed_ids(content.column(place))
    if ids is None or not all_differ(ids):
        return None
    texts, codes = coded_texts(content.column(label))
    words = [text.strip() or None for text in texts]
    table = Table(path, header, [], [])
    return LabelRows(
        path,
        ids,
        CodedNames(words, codes),
        range(first_row, first_row + len(codes)),
        table.column_name(label),
        table.column_name(place),
        unused_columns(table, {place, label}, AS_LABELS),
        {},
    )


def looks_like_label_header(table: Table) -> bool:
    """Whether the first row names columns."""
    first = [plain_name(cell).lower() for cell in table.rows[0]]
    if first[0] in IDS or any(cell in LABELS for cell in first[1:]):
        return True
    if first[0] in LABELS and any(cell in IDS for cell in first[1:]):
        return True
    if len(table.rows) < 2 or any(is_number(cell) or is_missing(cell) for cell in first):
        return False
    below = [[cells[k] for cells in table.rows[1:]] for k in range(table.width)]
    numbered = any(all(is_number(cell) or is_missing(cell) for cell in cells) for cells in below)
    return numbered or (not has_digit(first[0]) and all(map(has_digit, below[0])))


def label_columns(table: Table, layout: TableLayout) -> tuple[int, int]:
    """Positions of id and label: by name, else the first and the second of two."""
    id_column = chosen(table, layout.id, IDS) or 0
    if table.width == 2 and layout.label is None:
        return id_column, 1 - id_column
    label = chosen(table, layout.label, LABELS)
    if label is None or label == id_column:
        raise ValueError(
            f"{table.path}, row 1: columns must be id and label, or one must be called 'label' "
            f"(--label-column says which it is), got {shown(table)}"
        )
    return id_column, label


def shown(table: Table) -> str:
    """The names of the columns, or how many there are."""
    if table.header is None:
        return f"{table.width} columns"
    return f"{short(', '.join(table.header))!r} ({table.width} columns)"
