"""Graphs in the formats of other programs: GEXF, GML, node-link JSON, Matrix Market."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from elasticgnn.data.own.attributes import check_attribute, no_features, node_labels
from elasticgnn.data.own.ids import id_array
from elasticgnn.data.own.layout import (
    USUAL,
    TableLayout,
    unused_attributes,
    unused_edge_attributes,
)
from elasticgnn.data.own.matrix_market import read_matrix
from elasticgnn.data.own.records import (
    EdgeRows,
    FeatureRows,
    FileContent,
    finite_rows,
)
from elasticgnn.data.own.table import cell_text, short
from elasticgnn.data.own.targets import Target
from elasticgnn.extras import optional_imports
from elasticgnn.files import first_line

BROKEN = (SyntaxError, LookupError, TypeError, ValueError, AttributeError, RecursionError)
NETWORKS = (".gexf", ".gml", ".json")


def read_network(
    path: Path,
    kind: str,
    layout: TableLayout = USUAL,
    target: Target = "class",
    *,
    labelled: bool = True,
) -> FileContent:
    """Edges, and the number and label attributes of nodes where the file has them.

    layout: the attributes that are weight and label; labelled: whether labels are looked for.
    """
    graph = read_networkx(path, kind)
    if graph.number_of_edges() == 0:
        raise ValueError(f"{path} must have edges, got none")
    nodes = by_name(graph, path)
    numbers = node_numbers(nodes, path, layout)
    labels = node_labels(path, nodes, layout, target) if labelled else None
    edges = network_edges(graph, path, layout)
    notes = (*edges.notes, *unused_attributes(path, nodes.values(), numbers, labels))
    return FileContent(replace(edges, notes=notes), numbers, labels)


def by_name(graph: Any, path: Path) -> dict[str, dict[str, Any]]:
    """The attributes of each node by its id as text; ValueError where two would become one."""
    nodes: dict[str, dict[str, Any]] = {}
    for node, data in graph.nodes(data=True):
        name = cell_text(node)
        if name in nodes:
            raise ValueError(f"{path} must have ids that differ as text, got {short(name)!r} twice")
        nodes[name] = data
    return nodes


def read_networkx(path: Path, kind: str) -> Any:
    """The networkx graph of a GEXF, GML or JSON file; ValueError if it cannot be read."""
    with optional_imports():
        import networkx
    try:
        if kind == ".gexf":
            return networkx.read_gexf(path)
        if kind == ".gml":
            return with_names(networkx.read_gml(path, label="id"))
        content = json.loads(path.read_bytes())
        edges = "edges" if "edges" in content else "links"
        graph = networkx.node_link_graph(content, edges=edges)
        listed = networkx.node_link_graph({**content, edges: []}, edges=edges)
    except (networkx.NetworkXException, *BROKEN) as error:
        reason = short(first_line(error))
        raise ValueError(f"{path} must be a {kind[1:].upper()} graph, got: {reason}") from None
    strange = [node for node in graph.nodes if node not in listed]
    if strange and len(listed):  # places in the list of nodes, perhaps
        raise ValueError(f"{path}: ends must be ids of its nodes, got {short(repr(strange[0]))}")
    return graph


def with_names(graph: Any) -> Any:
    """A GML graph whose nodes have the names that their labels are, where all of these differ.

    GML's ids are numbers: networkx, for one, counts the nodes there, whatever they are called.
    """
    with optional_imports():
        import networkx
    names = {node: cell_text(label) for node, label in graph.nodes(data="label")}
    if "" in names.values() or len(set(names.values())) < len(names):
        return graph
    return networkx.relabel_nodes(graph, names)


def read_matrix_market(path: Path) -> EdgeRows:
    """The entries of a square matrix as edges between nodes 1, 2, 3, … (rows, as in the file)."""
    try:
        matrix = read_matrix(path)
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        reason = short(first_line(error))
        raise ValueError(f"{path} must be a Matrix Market file, got: {reason}") from None
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{path}: the adjacency matrix must be square, got {matrix.shape}")
    source, target = (axis.astype(np.int64) + 1 for axis in matrix.coords)
    weight = checked(np.asarray(matrix.data, dtype=np.float64), path)
    nodes = np.arange(1, matrix.shape[0] + 1)
    return EdgeRows(path, source, target, weight, range(1, len(source) + 1), nodes)


def network_edges(graph: Any, path: Path, layout: TableLayout) -> EdgeRows:
    """The edges of a networkx graph with weights, 1 where none is given."""
    rows = list(graph.edges(data=True))
    if layout.weight is not None:
        check_attribute(path, "edge", layout.weight, [data for _, _, data in rows])
    weights = [as_number(data.get(layout.weight or "weight", 1.0)) for _, _, data in rows]
    source, target = (id_array(cell_text(row[end]) for row in rows) for end in (0, 1))
    nodes = id_array(cell_text(node) for node in graph.nodes)
    line = list(range(1, len(rows) + 1))
    notes = unused_edge_attributes(path, (data for _, _, data in rows), layout)
    return EdgeRows(path, source, target, checked(np.array(weights), path), line, nodes, notes)


def checked(weight: Any, path: Path) -> Any:
    """The weights; ValueError names the first that is not finite and >= 0."""
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise ValueError(
            f"{path}, edge {bad[0] + 1}: weight must be a finite number >= 0, got {weight[bad[0]]}"
        )
    return weight


def node_numbers(
    nodes: dict[str, dict[str, Any]], path: Path, layout: TableLayout
) -> FeatureRows | None:
    """The attributes that every node has as a number; ValueError names one that is not finite."""
    first = next(iter(nodes.values()))
    names = [
        name
        for name in first
        if name not in no_features(layout)
        if all(isinstance(data.get(name), int | float) for data in nodes.values())
    ]
    if not names:
        return None
    rows = [[as_number(data[name]) for name in names] for data in nodes.values()]
    return finite_rows(path, nodes, names, rows)


def as_number(value: Any) -> float:
    """The value if it is a number, infinity if it is too large for one, else NaN."""
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf
