"""Graphs in GraphML: nodes and edges with attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from elasticgnn.data.own.attributes import check_attribute, no_features, node_labels
from elasticgnn.data.own.ids import id_array
from elasticgnn.data.own.layout import (
    USUAL,
    TableLayout,
    unused_attributes,
    unused_edge_attributes,
)
from elasticgnn.data.own.records import (
    EdgeRows,
    FeatureRows,
    FileContent,
    finite_rows,
)
from elasticgnn.data.own.table import is_number, short
from elasticgnn.data.own.targets import Target

NUMBER_TYPES = ("int", "long", "float", "double", "boolean")


@dataclass(frozen=True)
class Document:
    """Attributes of nodes and edges by attribute name, as text."""

    nodes: dict[str, dict[str, str]] = field(default_factory=dict)
    edges: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    node_types: dict[str, str] = field(default_factory=dict)


def read_graphml(
    path: Path, layout: TableLayout = USUAL, target: Target = "class", *, labelled: bool = True
) -> FileContent:
    """Edges with their attribute `weight`; labels, if `labelled`, and number attributes of nodes.

    Numbers become features only when every node has them.
    """
    document = parse(path)
    if not document.edges:
        raise ValueError(f"{path} must have edges, got {len(document.nodes)} nodes and none")
    ids = list(document.nodes)
    numbers = node_numbers(document, ids, path, layout)
    labels = None
    if labelled:
        labels = node_labels(path, document.nodes, layout, target, named=False)
    edges = graphml_edges(document, path, layout)
    notes = (*edges.notes, *unused_attributes(path, document.nodes.values(), numbers, labels))
    return FileContent(replace(edges, notes=notes), numbers, labels)


def parse(path: Path) -> Document:
    """Nodes and edges of a GraphML file with their values; ValueError if it is none."""
    document, keys = Document(), dict[str, str]()
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ValueError(f"{path} must be GraphML, got: {error}") from None
    if local(root.tag) != "graphml":
        raise ValueError(f"{path} must be GraphML, got the XML document {short(local(root.tag))!r}")
    for element in root.iter():
        tag = local(element.tag)
        if tag == "key":
            name = element.get("attr.name") or element.get("id") or ""
            keys[element.get("id", "")] = name
            if element.get("for") == "node":
                document.node_types[name] = element.get("attr.type", "string")
        elif tag == "node":
            document.nodes[required(element, "id", path)] = values(element, keys)
        elif tag == "edge":
            ends = required(element, "source", path), required(element, "target", path)
            document.edges.append((*ends, values(element, keys)))
    return document


def local(tag: object) -> str:
    """A tag without its XML namespace."""
    return str(tag).rpartition("}")[2]


def required(element: ElementTree.Element, name: str, path: Path) -> str:
    """An attribute that must be there; ValueError without it."""
    value = element.get(name)
    if not value:
        raise ValueError(f"{path}: each <{local(element.tag)}> must have {name!r}, got one without")
    return value


def values(element: ElementTree.Element, keys: dict[str, str]) -> dict[str, str]:
    """The <data> of an element by attribute name."""
    data = (child for child in element if local(child.tag) == "data")
    return {keys.get(c.get("key", ""), c.get("key", "")): (c.text or "").strip() for c in data}


def graphml_edges(document: Document, path: Path, layout: TableLayout) -> EdgeRows:
    """The edges with weights, 1 where none is written; ValueError names a bad edge."""
    name = layout.weight or "weight"
    if layout.weight is not None:
        check_attribute(path, "edge", name, [data for _, _, data in document.edges])
    weighted = any(name in data for _, _, data in document.edges)
    weight = np.ones(len(document.edges))
    for number, (source, target, data) in enumerate(document.edges):
        for end in (source, target):
            if end not in document.nodes:
                raise ValueError(f"{path}, edge {number + 1}: unknown node id {short(end)!r}")
        text = data.get(name, "1")
        weight[number] = number_or_nan(text)
        if not (math.isfinite(weight[number]) and weight[number] >= 0):
            raise ValueError(
                f"{path}, edge {number + 1}: weight must be a finite number >= 0, "
                f"got {short(text)!r}"
            )
    return EdgeRows(
        path,
        id_array(source for source, _, _ in document.edges),
        id_array(target for _, target, _ in document.edges),
        weight if weighted else None,
        list(range(1, len(document.edges) + 1)),
        id_array(document.nodes),
        unused_edge_attributes(path, (data for _, _, data in document.edges), layout),
    )


def number_or_nan(text: str) -> float:
    """The number (true and false are 1 and 0), NaN if it is none."""
    known = {"true": "1", "false": "0"}.get(text.lower(), text)
    return float(known) if is_number(known) else math.nan


def node_numbers(
    document: Document, ids: list[str], path: Path, layout: TableLayout
) -> FeatureRows | None:
    """The number attributes that every node has, in the order of their keys."""
    names = [
        name
        for name, kind in document.node_types.items()
        if kind in NUMBER_TYPES and name not in no_features(layout)
        if all(name in data for data in document.nodes.values())
    ]
    if not names:
        return None
    rows = [[number_or_nan(document.nodes[node][name]) for name in names] for node in ids]
    return finite_rows(path, document.nodes, names, rows)
