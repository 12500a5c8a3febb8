"""`read_task`: a task from one's own edge, feature and label files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from elasticgnn.data.own.arrays import read_archive, read_feature_archive, read_label_archive
from elasticgnn.data.own.assemble import assemble
from elasticgnn.data.own.edge_table import read_edge_table
from elasticgnn.data.own.feature_table import read_feature_table
from elasticgnn.data.own.graphml import read_graphml
from elasticgnn.data.own.label_table import read_label_table
from elasticgnn.data.own.layout import USUAL, TableLayout
from elasticgnn.data.own.networks import NETWORKS, read_matrix_market, read_network
from elasticgnn.data.own.records import EdgeRows, FeatureRows, FileContent, LabelRows
from elasticgnn.data.own.sheet import SHEETS
from elasticgnn.data.own.table import check_path
from elasticgnn.data.own.targets import TARGETS, Target
from elasticgnn.data.own.text import DELIMITERS, PACKED, table_ending
from elasticgnn.data.task import NodeTask

TABLES = (*DELIMITERS, ".parquet", *SHEETS)
ATTRIBUTED = (".graphml", *NETWORKS)  # graph files whose nodes and edges have attributes


def read_task(
    edges: str | Path,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    *,
    target: Target = "class",
    layout: TableLayout = USUAL,
    to_learn: bool = True,
) -> NodeTask:
    """The task that the files describe; each row of `edges` is one undirected edge.

    The format follows the name: .csv, .tsv, .txt (these also as .gz or .zip), .parquet, .xlsx,
    .npz; for edges also .graphml, .gexf, .gml, .json (node-link) and .mtx (Matrix Market). Node
    ids are whole numbers or any text. The nodes are those of the feature file, or else those of
    the edges. Labels may be missing; target: whether they name classes, or are numbers to be
    predicted; to_learn: whether they are to teach a model, which takes two different ones. Words
    among the features become columns of 0 and 1, missing numbers the median. Without features,
    stand-ins are made from the graph. `notes` says what was done. Whatever does not fit together
    is a ValueError naming file, row and column.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.data import read_task
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "edges.csv"
    ...     _ = path.write_text(chr(10).join(["source,target", "ana,bo", "bo,cem"]))
    ...     read_task(path).node_ids
    ('ana', 'bo', 'cem')
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {TARGETS}, got {target!r}")
    paths = [None if path is None else Path(path) for path in (edges, features, labels)]
    refuse_unused(layout, *paths)
    content = read_edges(Path(edges), layout, target, labelled=labels is None)
    if content.edges is None:
        raise ValueError(f"{edges} must hold edges, got none (edge_index or a sparse matrix)")
    feature_rows = content.features if features is None else read_features(Path(features), layout)
    label_rows = content.labels if labels is None else read_labels(Path(labels), layout)
    if Path(edges).suffix.lower() == ".mtx":
        feature_rows = feature_rows and counted_from_one(feature_rows, content.edges)
        label_rows = label_rows and counted_from_one(label_rows, content.edges)
    return assemble(content.edges, feature_rows, label_rows, target, to_learn=to_learn)


def refuse_unused(
    layout: TableLayout, edges: Path | None, features: Path | None, labels: Path | None
) -> None:
    """Refuses names of columns, and an encoding, that no file is read by."""
    kinds = [None if path is None else table_ending(path) for path in (edges, features, labels)]
    is_table = [kind in TABLES for kind in kinds]
    has_attributes = kinds[0] in ATTRIBUTED
    used = {
        "source": is_table[0],
        "target": is_table[0],
        "weight": is_table[0] or has_attributes,
        "id": any(is_table[1:]),
        "label": any(is_table[1:]) or (has_attributes and labels is None),
        "encoding": any(kind in DELIMITERS for kind in kinds),
    }
    for name, is_used in used.items():
        asked = getattr(layout, name)
        if asked is not None and not is_used:
            option = f"--{name}" if name == "encoding" else f"--{name}-column"
            files = ", ".join(str(path) for path in (edges, features, labels) if path is not None)
            where = " (--features or --labels)" if name in ("id", "label") else ""
            rule = f"{option} must be given with a file that it can be of{where}"
            raise ValueError(f"{rule}, got {files}")


Rows = TypeVar("Rows", FeatureRows, LabelRows)


def counted_from_one(rows: Rows, edges: EdgeRows) -> Rows:
    """The rows of an archive beside a matrix of edges of as many, both by their place.

    Matrix Market counts them from 1, an archive without node_ids from 0.
    """
    if edges.nodes is None or rows.path.suffix.lower() != ".npz":
        return rows
    if not np.array_equal(rows.ids, edges.nodes - 1):
        return rows
    note = f"{rows.path.name}: its rows are nodes 1, 2, 3, … of {edges.path.name}"
    return replace(rows, ids=edges.nodes, notes=(*rows.notes, note))


def read_edges(
    path: Path, layout: TableLayout = USUAL, target: Target = "class", *, labelled: bool = True
) -> FileContent:
    """Edges, and what else a graph file brings along; labels only if `labelled`."""
    kind = file_kind(path, (*TABLES, ".npz", *ATTRIBUTED, ".mtx"))
    if kind == ".npz":
        return read_archive(path)
    if kind == ".mtx":
        return FileContent(edges=read_matrix_market(path))
    if kind == ".graphml":
        return read_graphml(path, layout, target, labelled=labelled)
    if kind in NETWORKS:
        return read_network(path, kind, layout, target, labelled=labelled)
    return FileContent(edges=read_edge_table(path, layout))


def read_features(path: Path, layout: TableLayout = USUAL) -> FeatureRows:
    """Feature rows of a table, Parquet file or archive."""
    kind = file_kind(path, (*TABLES, ".npz"))
    return read_feature_archive(path) if kind == ".npz" else read_feature_table(path, layout)


def read_labels(path: Path, layout: TableLayout = USUAL) -> LabelRows:
    """Label rows of a table or archive."""
    kind = file_kind(path, (*TABLES, ".npz"))
    if kind == ".npz" and layout.further:
        raise ValueError(f"{path} must be a table to have a column {layout.further[0]!r}, got .npz")
    return read_label_archive(path) if kind == ".npz" else read_label_table(path, layout)


def file_kind(path: Path, known: tuple[str, ...]) -> str:
    """The lower-case ending of a file that is there, not empty, and of a known kind."""
    check_path(path)
    kind = table_ending(path)
    packed = path.suffix.lower() in PACKED
    if kind not in known or (packed and kind not in DELIMITERS):
        raise ValueError(f"{path} must end in {', '.join(known)}, got {kind or 'no ending'!r}")
    return kind
