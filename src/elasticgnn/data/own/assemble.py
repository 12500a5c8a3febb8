"""Fits edges, features and labels together by node id, or says where they do not fit."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from elasticgnn.data.labels import natural
from elasticgnn.data.own.records import EdgeRows, FeatureRows, LabelRows
from elasticgnn.data.own.stand_ins import NOTE, structural_features
from elasticgnn.data.own.table import short
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph

LARGE = 100.0  # features beyond this are worth a note


def assemble(edges: EdgeRows, features: FeatureRows | None, labels: LabelRows | None) -> NodeTask:
    """The task of the three, nodes in the order of the features, or of first mention."""
    ids = node_order(edges, features)
    place = {node: number for number, node in enumerate(ids)}
    graph, notes = build_graph(edges, place, None if features is None else features.path)
    notes = (*notes, *feature_notes(features))
    class_names, numbers = number_classes(labels, place, edges.path)
    return NodeTask(
        name=edges.path.stem,
        graph=graph,
        features=structural_features(graph) if features is None else features.values,
        labels=numbers,
        class_names=class_names,
        node_ids=whole_numbers(ids) or ids,
        notes=(*edges.notes, *notes),
    )


def feature_notes(features: FeatureRows | None) -> tuple[str, ...]:
    """That stand-ins are used, or that the numbers are too large to learn from easily."""
    if features is None:
        return (NOTE,)
    values = features.values
    numbers = values.value if isinstance(values, SparseFeatures) else values
    largest = float(numbers.abs().max()) if numbers.numel() else 0.0
    if largest <= LARGE:
        return ()
    return (
        f"{features.path.name}: values reach {largest:.3g}; scaled to about 1 they train better",
    )


def node_order(edges: EdgeRows, features: FeatureRows | None) -> tuple[str, ...]:
    """Every node's id once."""
    if features is not None:
        return tuple(features.ids)
    if edges.nodes is not None:
        return edges.nodes
    pairs = zip(edges.source, edges.target, strict=True)
    ids = tuple(dict.fromkeys(chain.from_iterable(pairs)))
    numbers = whole_numbers(ids)
    return tuple(map(str, sorted(numbers))) if numbers else ids


def whole_numbers(ids: tuple[str, ...]) -> tuple[int, ...] | None:
    """The ids as numbers when each is written as a plain whole number, else None."""
    plain = (node.isascii() and node.isdigit() and len(node) < 19 for node in ids)
    if not all(plain) or any(node != str(int(node)) for node in ids):
        return None
    return tuple(int(node) for node in ids)


def build_graph(
    edges: EdgeRows, place: dict[str, int], feature_path: Path | None
) -> tuple[Graph, tuple[str, ...]]:
    """The undirected graph of the rows, and notes on what was dropped or merged."""
    ends = [find_ends(edges, axis, place, feature_path) for axis in ("source", "target")]
    index = torch.tensor(ends, dtype=torch.int64)
    weight = torch.ones(index.shape[1], dtype=torch.float64)
    if edges.weight is not None:
        weight = torch.from_numpy(edges.weight)
    kept = index[0] != index[1]
    if not bool(kept.any()):
        raise ValueError(f"{edges.path} must join different nodes, got only self-loops")
    loops = int((~kept).sum())
    notes = [f"{edges.path.name}: {loops} self-loops dropped"] if loops else []
    pairs, total, merged = merge_rows(index[:, kept], weight[kept])
    if merged:
        notes.append(f"{edges.path.name}: {merged} rows name a pair again, weights added up")
    return Graph.from_edge_index(pairs, len(place), total, undirected=True), tuple(notes)


def merge_rows(index: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, int]:
    """Each pair once (2, m), its weight (m,), and how many rows were merged into others.

    Rows that name the same pair add up. But where the file lists every edge in both directions
    with equal weight, it is a symmetric listing, and each edge counts once.
    """
    low, high = index.min(0).values, index.max(0).values
    size = int(high.max()) + 1
    key, slot = torch.unique(low * size + high, return_inverse=True)
    pairs = torch.stack([key // size, key % size])
    direction = (index[0] < index[1]).long()
    total = torch.zeros(2, pairs.shape[1], dtype=torch.float64)
    total.index_put_((direction, slot), weight, accumulate=True)
    seen = torch.zeros(2, pairs.shape[1], dtype=torch.bool)
    seen[direction, slot] = True
    if bool(seen.all()) and torch.equal(total[0], total[1]):
        return pairs, total[0], index.shape[1] - 2 * pairs.shape[1]
    return pairs, total.sum(0), index.shape[1] - pairs.shape[1]


def find_ends(
    edges: EdgeRows, axis: str, place: dict[str, int], feature_path: Path | None
) -> list[int]:
    ends: list[str] = edges.source if axis == "source" else edges.target
    try:
        return [place[end] for end in ends]
    except KeyError:
        row = next(row for row, end in enumerate(ends) if end not in place)
        where = f"{edges.path}, row {edges.line[row]}, column {axis!r}"
        raise ValueError(
            f"{where}: the node must have features in {feature_path}, got {short(ends[row])!r}"
        ) from None


def number_classes(
    labels: LabelRows | None, place: dict[str, int], edge_path: Path
) -> tuple[tuple[str, ...], Tensor]:
    """Class names, numbers before words, and each node's class number or -1."""
    numbers = torch.full((len(place),), -1, dtype=torch.int64)
    if labels is None:
        return (), numbers
    check_known(labels, place, edge_path)
    names = tuple(sorted({name for name in labels.names if name is not None}, key=natural))
    if len(names) < 2:
        found = f"only {short(names[0])!r}" if names else "none"
        raise ValueError(
            f"{labels.path}, column {labels.column}: must name at least 2 classes, got {found}"
        )
    number = {name: position for position, name in enumerate(names)}
    listed = [(place[node], number[name]) for node, name in known_pairs(labels)]
    nodes, classes = np.array(listed, dtype=np.int64).T
    numbers[torch.from_numpy(nodes)] = torch.from_numpy(classes)
    return names, numbers


def known_pairs(labels: LabelRows) -> list[tuple[str, str]]:
    pairs = zip(labels.ids, labels.names, strict=True)
    return [(node, name) for node, name in pairs if name is not None]


def check_known(labels: LabelRows, place: dict[str, int], edge_path: Path) -> None:
    """Refuses labels of nodes that are not in the graph."""
    unknown = [row for row, node in enumerate(labels.ids) if node not in place]
    if not unknown:
        return
    if len(unknown) == len(labels.ids):
        raise ValueError(
            f"{labels.path} must label nodes of {edge_path}, got no id in common "
            f"(the first is {short(labels.ids[0])!r})"
        )
    row = unknown[0]
    raise ValueError(
        f"{labels.path}, row {labels.line[row]}, column {labels.id_column}: "
        f"the node must be in {edge_path}, got {short(labels.ids[row])!r}"
    )
