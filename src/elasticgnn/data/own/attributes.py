"""Attributes of the nodes of a graph file (GraphML, GEXF, GML, JSON): which of them are labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elasticgnn.data.own.ids import id_array
from elasticgnn.data.own.layout import USUAL, TableLayout
from elasticgnn.data.own.records import LabelRows
from elasticgnn.data.own.table import cell_text, is_missing, is_number, short
from elasticgnn.data.own.targets import Target

Nodes = Mapping[str, Mapping[str, Any]]  # attributes by the id of each node
LABEL_KEYS = ("class", "y", "label")  # Gephi's own `label` is a name: it comes last


def no_features(layout: TableLayout) -> set[str | None]:
    """Names of attributes that are never features."""
    return {*LABEL_KEYS, layout.label, *layout.further}


def node_labels(
    path: Path,
    nodes: Nodes,
    layout: TableLayout = USUAL,
    target: Target = "class",
    *,
    named: bool = True,
) -> LabelRows | None:
    """The attribute that was asked for, or the first of class, y, label that fits the target.

    named: whether the program that writes such files gives each node a `label` of its own, its
    name; else an attribute of these that only some nodes have is taken as it is.
    """
    for name in (layout.label, *layout.further):
        if name is not None:
            check_attribute(path, "node", name, list(nodes.values()))
    rows = range(1, len(nodes) + 1)
    extra = {name: [cell_text(d.get(name)) for d in nodes.values()] for name in layout.further}
    for key in LABEL_KEYS if layout.label is None else (layout.label,):
        names = [label_or_none(data.get(key)) for data in nodes.values()]
        names, notes = without_own_ids(path, nodes, names) if key == "label" else (names, ())
        given = not named and 0 < len(known_of(names)) < len(names)
        if layout.label is not None or given or fits(names, target):
            return LabelRows(path, id_array(nodes), names, rows, key, notes=notes, extra=extra)
    return None


def label_or_none(value: Any) -> str | None:
    """The label as text, None where there is none."""
    text = cell_text(value)
    return text or None


def without_own_ids(
    path: Path, nodes: Nodes, names: Sequence[str | None]
) -> tuple[list[str | None], tuple[str, ...]]:
    """The labels but for those that are a node's own id alone, with a note.

    Programs that write GEXF name a node by its id where it has no label.
    """
    count = Counter(names)
    own = [name == node and count[name] == 1 for node, name in zip(nodes, names, strict=True)]
    kept = [None if is_own else name for name, is_own in zip(names, own, strict=True)]
    if not any(own) or not any(kept):
        return list(names), ()
    note = f"{path.name}: the label of {sum(own)} nodes is their own id, read as not known"
    return kept, (note,)


def known_of(names: Sequence[str | None]) -> list[str]:
    """The labels that are there, without NA and the like."""
    return [name for name in names if name is not None and not is_missing(name)]


def fits(names: Sequence[str | None], target: Target) -> bool:
    """Whether these can be labels: classes that nodes share, or different numbers."""
    known = known_of(names)
    if target == "number":
        return len(set(known)) >= 2 and all(map(is_number, known))
    return 2 <= len(set(known)) <= len(known) / 2


def check_attribute(path: Path, kind: str, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuses the name of an attribute that nothing in the file has."""
    known = dict.fromkeys(key for data in rows for key in data)
    if name not in known:
        listed = ", ".join(repr(short(key)) for key in list(known)[:8]) or "none"
        raise ValueError(f"{path}: a {kind} must have an attribute {short(name)!r}, got {listed}")
