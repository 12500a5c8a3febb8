"""How one's own tables are to be read where it cannot be seen from them."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from elasticgnn.data.own.records import FeatureRows, LabelRows
from elasticgnn.data.own.table import Table, plain_name, short, with_header


@dataclass(frozen=True)
class TableLayout:
    """Names of columns: both ends and the weight of an edge, a node's id, its label; the encoding
    of text files. What is None is found by the usual names. further: columns of the label file
    that are kept as they are, for splits, groups or times. features: the only columns that are
    features, for a model that knows its own."""

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    id: str | None = None
    label: str | None = None
    encoding: str | None = None
    further: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"encoding must be one that Python knows (utf-8, latin-1, …), "
                    f"got {self.encoding!r}"
                ) from None
        if (self.source is None) != (self.target is None):
            raise ValueError(
                "source and target column must be named together (--source-column and "
                "--target-column), got only "
                f"{short(str(self.source or self.target))!r}"
            )


USUAL = TableLayout()


def headed(table: Table, is_header: bool, wanted: tuple[str | None, ...]) -> Table:
    """The table with its header; the columns `wanted` by name must be in it."""
    names = [name for name in wanted if name is not None]
    table = with_header(table, is_header or bool(names))
    for name in names:
        position_of(table, name)
    return table


def position_of(table: Table, name: str) -> int:
    """Where the column called `name` is, by its exact name or else without regard to case."""
    header = table.header or ()
    for form in (str, str.lower):
        wanted, listed = form(plain_name(name)), [form(column) for column in header]
        if wanted in listed:
            return listed.index(wanted)
    known = ", ".join(map(repr, header[:8])) + (", …" if len(header) > 8 else "")
    raise ValueError(f"{table.path} must have a column {short(name)!r} as asked, got {known}")


def find_name(header: tuple[str, ...], names: tuple[str, ...]) -> int | None:
    """Position of the first column that has one of the names, in the order of the names."""
    lowered = [name.lower() for name in header]
    return next((lowered.index(name) for name in names if name in lowered), None)


def chosen(table: Table, asked: str | None, names: tuple[str, ...]) -> int | None:
    """The column that was asked for, or else the one with a usual name."""
    if asked is not None:
        return position_of(table, asked)
    return None if table.header is None else find_name(table.header, names)


def guessed_id(table: Table, position: int, asked: str | None, names: tuple[str, ...]) -> list[str]:
    """A note on ids below an unknown name: where others are meant, nodes get foreign rows."""
    header = table.header
    if header is None or asked is not None or header[position].lower() in names:
        return []
    text = f"column {table.column_name(position)} is read as the id (--id-column names another)"
    return [f"{table.path.name}: {text}"]


def unused_columns(table: Table, used: set[int | None], purpose: str = "") -> tuple[str, ...]:
    """A note that names the columns nobody asked for, the first few of them.

    purpose: what they are not used for, where the table may serve another one too.
    """
    unused = [position for position in range(table.width) if position not in used]
    if not unused:
        return ()
    names = ", ".join(table.column_name(position) for position in unused[:5])
    more = f" and {len(unused) - 5} more" if len(unused) > 5 else ""
    return (f"{table.path.name}: columns not used{purpose}: {names}{more}",)


def unused_attributes(
    path: Path,
    nodes: Iterable[Mapping[str, object]],
    features: FeatureRows | None,
    labels: LabelRows | None,
) -> tuple[str, ...]:
    """A note on attributes of a graph file's nodes that are neither features nor classes.

    An attribute `label` that is no class is the name of a node.
    """
    used = {*((features.names or ()) if features else ()), labels.column if labels else "label"}
    used |= set((labels.extra or ()) if labels else ())
    return not_used(path, "nodes", (name for data in nodes for name in data if name not in used))


def unused_edge_attributes(
    path: Path, edges: Iterable[Mapping[str, object]], layout: TableLayout
) -> tuple[str, ...]:
    """A note on attributes of a graph file's edges other than their weight and number."""
    used = {layout.weight or "weight", "id", "key"}
    return not_used(path, "edges", (name for data in edges for name in data if name not in used))


def not_used(path: Path, of: str, names: Iterable[str]) -> tuple[str, ...]:
    """A note on attributes that nobody asked for, the first few of them."""
    different = list(dict.fromkeys(names))
    if not different:
        return ()
    listed = ", ".join(repr(short(name)) for name in different[:5])
    more = f" and {len(different) - 5} more" if len(different) > 5 else ""
    return (f"{path.name}: attributes of {of} not used: {listed}{more}",)
