"""`read_task`: a task from one's own edge, feature and label files."""

from __future__ import annotations

from pathlib import Path

from elasticgnn.data.own.arrays import read_archive, read_feature_archive, read_label_archive
from elasticgnn.data.own.assemble import assemble
from elasticgnn.data.own.graphml import read_graphml
from elasticgnn.data.own.records import FeatureRows, FileContent, LabelRows
from elasticgnn.data.own.table import DELIMITERS, check_path
from elasticgnn.data.own.tables import read_edge_table, read_feature_table, read_label_table
from elasticgnn.data.task import NodeTask

TABLES = (*DELIMITERS, ".parquet")


def read_task(
    edges: str | Path, features: str | Path | None = None, labels: str | Path | None = None
) -> NodeTask:
    """The task that the files describe; each row of `edges` is one undirected edge.

    The format follows the name: .csv, .tsv, .parquet, .npz, .graphml (edges only). Node ids are
    whole numbers or any text. The nodes are those of the feature file, or else those of the
    edges. Labels may be missing. Without features, stand-ins are made from the graph, and
    `notes` says so. Whatever does not fit together is a ValueError naming file, row and column.
    """
    content = read_edges(Path(edges))
    if content.edges is None:
        raise ValueError(f"{edges} must hold edges, got none (edge_index or a sparse matrix)")
    feature_rows = content.features if features is None else read_features(Path(features))
    label_rows = content.labels if labels is None else read_labels(Path(labels))
    return assemble(content.edges, feature_rows, label_rows)


def read_edges(path: Path) -> FileContent:
    """Edges, and what else a graph file brings along."""
    kind = file_kind(path, (*TABLES, ".npz", ".graphml"))
    if kind == ".npz":
        return read_archive(path)
    if kind == ".graphml":
        return read_graphml(path)
    return FileContent(edges=read_edge_table(path))


def read_features(path: Path) -> FeatureRows:
    kind = file_kind(path, (*TABLES, ".npz"))
    return read_feature_archive(path) if kind == ".npz" else read_feature_table(path)


def read_labels(path: Path) -> LabelRows:
    kind = file_kind(path, (*TABLES, ".npz"))
    return read_label_archive(path) if kind == ".npz" else read_label_table(path)


def file_kind(path: Path, known: tuple[str, ...]) -> str:
    """The lower-case ending of a file that is there, not empty, and of a known kind."""
    check_path(path)
    kind = path.suffix.lower()
    if kind not in known:
        raise ValueError(f"{path} must end in {', '.join(known)}, got {kind or 'no ending'!r}")
    return kind
