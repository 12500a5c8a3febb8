"""Fits edges, features and labels together by node id, or says where they do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.data.own.ids import IdIndex, Ids, in_order, is_numbers
from elasticgnn.data.own.leakage import leaking_columns
from elasticgnn.data.own.records import EdgeRows, FeatureRows, LabelRows
from elasticgnn.data.own.spelling import (
    ROUNDED,
    look_alike,
    nothing_in_common,
    one_number,
    otherwise_written,
    pair_in_words,
    written,
)
from elasticgnn.data.own.stand_ins import NOTE, structural_features
from elasticgnn.data.own.targets import (
    Target,
    label_notes,
    labelled_nodes,
    number_classes,
    number_notes,
    number_values,
    one_spelling,
    without_unknown,
)
from elasticgnn.data.task import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.graph.keys import pair_keys, pairs_of

LARGE = 100.0  # features beyond this are worth a note


def assemble(
    edges: EdgeRows,
    features: FeatureRows | None,
    labels: LabelRows | None,
    target: Target = "class",
    *,
    to_learn: bool = True,
) -> NodeTask:
    """The task of the three, nodes in the order of the features, or of first mention."""
    place = IdIndex(node_order(edges, features))
    graph, notes = build_graph(edges, place, None if features is None else features.path)
    task = NodeTask(
        name=edges.path.stem,
        graph=graph,
        features=structural_features(graph) if features is None else features.values,
        labels=torch.full((len(place),), -1, dtype=torch.int64),
        class_names=(),
        node_ids=tuple(place.ids.tolist()),
        notes=(*edges.notes, *notes, *id_notes(edges.path, place.ids), *feature_notes(features)),
        feature_names=None if features is None else features.names,
        made_features=features is None,
        categories=() if features is None else features.categories,
        missing=None if features is None else features.missing,
    )
    if labels is None:
        return task
    listed_in = edges.path if features is None else features.path
    return with_target(task, labels, place, listed_in, target, fewest=2 if to_learn else 1)


def with_target(
    task: NodeTask,
    labels: LabelRows,
    place: IdIndex,
    node_path: Path,
    target: Target,
    *,
    fewest: int,
) -> NodeTask:
    """The task with what is known of its nodes: so many different classes, or numbers, or more."""
    further = label_columns(labels, place, node_path)
    labels = without_unknown(labels)
    if target == "number":
        values = number_values(labels, place, node_path, fewest)
        notes = (*task.notes, *number_notes(labels, values))
        return replace(task, values=values, notes=notes, label_columns=further)
    labels = one_spelling(labels)
    names, numbers = number_classes(labels, place, node_path, fewest)
    task = replace(task, class_names=names, labels=numbers, label_columns=further)
    return replace(task, notes=(*task.notes, *label_notes(labels, names), *leaking_columns(task)))


def label_columns(labels: LabelRows, place: IdIndex, node_path: Path) -> dict[str, tuple[str, ...]]:
    """The further columns that were asked for, one text per node, empty where there is none."""
    if not labels.extra:
        return {}
    nodes = labelled_nodes(labels, place, node_path).tolist()
    found = {}
    for name, cells in labels.extra.items():
        texts = [""] * len(place)
        for node, cell in zip(nodes, cells, strict=True):
            texts[node] = cell
        found[name] = tuple(texts)
    return found


def feature_notes(features: FeatureRows | None) -> tuple[str, ...]:
    """That stand-ins are used, or that the numbers are too large to learn from easily."""
    if features is None:
        return (NOTE,)
    values = features.values
    numbers = values.value if isinstance(values, SparseFeatures) else values
    largest = float(numbers.abs().max()) if numbers.numel() else 0.0
    if largest <= LARGE:
        return features.notes
    return (
        *features.notes,
        f"{features.path.name}: values reach {largest:.3g}; commands scale them, `fit` does not",
    )


def id_notes(path: Path, ids: Ids) -> tuple[str, ...]:
    """That two ids look alike, or were rounded, before nodes are joined or parted by mistake."""
    if is_numbers(ids):
        return ()
    names, notes = ids.tolist(), []
    pair = look_alike(names)
    if pair:
        notes.append(f"{path.name}: ids {pair_in_words(pair)} are read as two nodes")
    pair = one_number(names)
    if pair:
        same = "though they are one number"
        notes.append(f"{path.name}: ids {pair_in_words(pair)} are read as two nodes, {same}")
    rounded = next(filter(ROUNDED.fullmatch, names), None)
    if rounded:
        doubt = "looks rounded by a spreadsheet: several nodes may have become one"
        notes.append(f"{path.name}: WARNING: id {rounded!r} {doubt}")
    return tuple(notes)


def node_order(edges: EdgeRows, features: FeatureRows | None) -> Ids:
    """Every node's id once."""
    if features is not None:
        return features.ids
    return edges.nodes if edges.nodes is not None else in_order([edges.source, edges.target])


def build_graph(
    edges: EdgeRows, place: IdIndex, feature_path: Path | None
) -> tuple[Graph, tuple[str, ...]]:
    """The undirected graph of the rows, and notes on what was dropped or merged."""
    ends = [find_ends(edges, axis, place, feature_path) for axis in (0, 1)]
    index = torch.stack([torch.from_numpy(end) for end in ends])
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
    if not bool(total.any()):
        raise ValueError(f"{edges.path} must have a weight above 0, got only 0")
    joins = total > 0
    idle = int((~joins).sum())
    if idle:
        notes.append(f"{edges.path.name}: {idle} edges have weight 0 and join nothing")
    alone = len(place) - len(torch.unique(pairs[:, joins]))
    if alone:
        notes.append(f"{edges.path.name}: {alone} of {len(place)} nodes have no edge")
    return Graph.from_edge_index(pairs, len(place), total, undirected=True), tuple(notes)


def merge_rows(index: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, int]:
    """Each pair once (2, m), its weight (m,), and how many rows were merged into others.

    Rows that name the same pair add up. But where the file lists every edge in both directions
    with equal weight, it is a symmetric listing, and each edge counts once.
    """
    low, high = index.min(0).values, index.max(0).values
    size = int(high.max()) + 1
    key, slot = torch.unique(pair_keys(low, high, size), return_inverse=True)
    pairs = torch.stack(pairs_of(key, size))
    direction = (index[0] < index[1]).long()
    total = torch.zeros(2, pairs.shape[1], dtype=torch.float64)
    total.index_put_((direction, slot), weight, accumulate=True)
    seen = torch.zeros(2, pairs.shape[1], dtype=torch.bool)
    seen[direction, slot] = True
    if bool(seen.all()) and torch.equal(total[0], total[1]):
        return pairs, total[0], index.shape[1] - 2 * pairs.shape[1]
    return pairs, total.sum(0), index.shape[1] - pairs.shape[1]


def find_ends(
    edges: EdgeRows, axis: int, place: IdIndex, feature_path: Path | None
) -> NDArray[np.int64]:
    """The node number of one end of every edge (m,); ValueError names the first unknown id."""
    ends: Ids = edges.target if axis else edges.source
    found = place.find(ends)
    if len(found) and int(found.min()) < 0:
        row = int(np.argmin(found))
        if len(found) > 1 and int(found.max()) < 0:
            raise ValueError(
                f"{edges.path}, column {edges.columns[axis]}: must name nodes of {feature_path}, "
                + nothing_in_common(ends.tolist(), place.ids.tolist())
            )
        where = f"{edges.path}, row {edges.line[row]}, column {edges.columns[axis]}"
        name = str(ends[row])
        raise ValueError(
            f"{where}: the node must have features in {feature_path}, got {written(name)}"
            + otherwise_written(name, place.ids.tolist())
        )
    return found
