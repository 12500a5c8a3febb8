"""A split of one's own in a file beside the labels: a table, or the lists that `train` prints."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from elasticgnn.data.own.feature_table import IDS, id_cells
from elasticgnn.data.own.ids import IdIndex, Ids, id_array
from elasticgnn.data.own.layout import USUAL, TableLayout, chosen, headed
from elasticgnn.data.own.records import LabelRows
from elasticgnn.data.own.table import check_path, is_missing, read_lines, short
from elasticgnn.data.own.targets import labelled_nodes
from elasticgnn.data.task import NodeTask

PARTS = ("split", "part", "set", "role", "fold")  # usual names of the column


def with_split_file(task: NodeTask, path: Path, layout: TableLayout = USUAL) -> NodeTask:
    """The task whose `label_columns` have what the file says of its nodes, by the file's name.

    A table has an id and a part (train, val or test) in each row; .json has a list of ids for each
    part. Nodes that the file does not name have no part; names of other nodes are refused.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.data.own.split_file import with_split_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "split.json"
    ...     _ = path.write_text('{"train": [0, 1], "test": [2]}')
    ...     with_split_file(task, path).label_columns["split.json"][:4]
    ('train', 'train', 'test', '')
    """
    check_path(path)
    rows = read_lists(path) if path.suffix.lower() == ".json" else read_parts(path, layout)
    ids = id_array(map(str, task.ids))
    nodes = labelled_nodes(rows, IdIndex(ids), Path("the graph"))
    texts = [""] * task.num_nodes
    for node, part in zip(nodes.tolist(), rows.names, strict=True):
        texts[node] = part or ""
    return replace(task, label_columns={**task.label_columns, path.name: tuple(texts)})


def read_parts(path: Path, layout: TableLayout) -> LabelRows:
    """The rows of a table of ids and parts."""
    table = read_lines(path, layout.encoding)
    first = [cell.lower() for cell in table.rows[0]]
    table = headed(table, first[0] in IDS or any(cell in PARTS for cell in first), (layout.id,))
    place = chosen(table, layout.id, IDS) or 0
    part = chosen(table, None, PARTS)
    if part is None and table.width == 2:
        part = 1 - place
    if part is None or part == place:
        raise ValueError(
            f"{path}, row 1: columns must be id and split, got {table.width} columns without a "
            "name of these"
        )
    cells = [row[part] for row in table.rows]
    return LabelRows(
        path,
        id_array(id_cells(table, place)),
        [None if is_missing(cell) else cell for cell in cells],
        table.line,
        table.column_name(part),
        table.column_name(place),
    )


def read_lists(path: Path) -> LabelRows:
    """The lists of ids in a JSON object, by their part."""
    try:
        content = json.loads(path.read_bytes())  # UTF-8, 16 or 32, with and without a mark
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} must be JSON, got: {short(str(error))}") from None
    if not isinstance(content, dict) or not all(isinstance(v, list) for v in content.values()):
        raise ValueError(
            f"{path} must be an object with a list of ids for train, val and test, "
            f"got {type(content).__name__}"
        )
    pairs = [(str(node), part) for part, nodes in content.items() for node in nodes]
    ids: Ids = id_array([node for node, _ in pairs])
    seen: dict[Any, str] = {}
    for node, part in pairs:
        if node in seen:
            raise ValueError(f"{path} must name each node once, got {short(node)!r} twice")
        seen[node] = part
    return LabelRows(path, ids, [part for _, part in pairs], range(1, len(pairs) + 1))
