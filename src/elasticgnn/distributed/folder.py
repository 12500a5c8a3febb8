"""Reads a partition folder: one process's parts of it, or all of them as one task."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.data import NodeTask, Split
from elasticgnn.data.npy import map_npy
from elasticgnn.data.splits import usual_split
from elasticgnn.distributed.agreement import check_same
from elasticgnn.distributed.checks import check_kind, check_part, check_range
from elasticgnn.distributed.graph import DistributedGraph, rank_and_processes
from elasticgnn.distributed.manifest import Manifest, check_files, part_folder, read_manifest
from elasticgnn.distributed.part import Part, ranks_of_parts
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.graph.merge import Edges


@dataclass(frozen=True, eq=False)
class PartFeatures:
    """Feature rows of one part; first: where a sparse row's values begin among all of them."""

    nodes: Tensor
    rows: Tensor | SparseFeatures
    first: Tensor | None


class PartitionFolder:
    """A finished partition folder; every file is compared with the manifest when it is read.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.distributed import PartitionFolder, write_partition
    >>> with TemporaryDirectory() as place:
    ...     _ = write_partition(task, Path(place) / "parts", parts=3)
    ...     len(PartitionFolder(Path(place) / "parts").work)
    3
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.manifest: Manifest = read_manifest(self.path)

    def array(self, name: str, part: int | None = None) -> NDArray[Any]:
        """An array of the folder or of a part, memory-mapped."""
        folder = self.path if part is None else part_folder(self.path, part)
        files = self.manifest.files if part is None else self.manifest.parts[part].files
        path = folder / f"{name}.npy"
        if path.name not in files:
            raise ValueError(f"{folder} must have a file {path.name}, got none in its manifest")
        check_files(folder, {path.name: files[path.name]})
        found = map_npy(path)
        check_kind(found, name, path)
        return found

    def part(self, number: int) -> Part:
        """Nodes and neighbours of one part, mapped from its files."""
        entry = self.manifest.parts[number]
        names = ("nodes", "start", "neighbour")
        nodes, start, neighbour = (self.array(name, number) for name in names)
        weight = self.array("weight", number) if "weight.npy" in entry.files else None
        part, sizes = Part(number, nodes, start, neighbour, weight), (entry.nodes, entry.neighbours)
        check_part(part, sizes, self.manifest.num_nodes, part_folder(self.path, number))
        return part

    @cached_property
    def work(self) -> NDArray[Any]:
        """Nodes and neighbours of every part together, (p,)."""
        return np.array([entry.work for entry in self.manifest.parts])

    def graph(self, *, group: Any = None) -> DistributedGraph:
        """This process's share of the graph."""
        rank, processes = rank_and_processes(group)
        check_same("partition folder", self.manifest.digest, group)
        ranks = ranks_of_parts(self.work, processes)
        of_part = self.array("assignment")
        where = self.path / "assignment.npy"
        check_range(of_part, self.manifest.num_nodes, (0, len(ranks)), where)
        return DistributedGraph.from_parts(
            [self.part(number) for number in np.flatnonzero(ranks == rank).tolist()],
            lambda nodes: ranks[of_part[nodes]],
            num_nodes=self.manifest.num_nodes,
            num_parts=len(ranks),
            normalization=self.manifest.normalization,
            group=group,
        )

    def features(self, part: int, nodes: Tensor | None = None) -> PartFeatures:
        """The feature rows of one part, sparse or dense as they were stored.

        `nodes` are the part's where they are in memory already.
        """
        if nodes is None:
            nodes = torch.tensor(self.array("nodes", part))
        if not self.manifest.sparse:
            rows = torch.from_numpy(np.array(self.array("features", part)))
            shape = (len(nodes), self.manifest.num_features)
            if rows.shape != shape:
                where = part_folder(self.path, part) / "features.npy"
                raise ValueError(f"{where} must have shape {shape}, got {tuple(rows.shape)}")
            return PartFeatures(nodes, rows, None)
        names = ("feature_start", "feature_column", "feature_value", "feature_first")
        start, column, value, first = (torch.tensor(self.array(name, part)) for name in names)
        sparse = SparseFeatures(start, column, value, self.manifest.num_features)
        return PartFeatures(nodes, sparse, first)

    @property
    def labels(self) -> Tensor:
        """Classes of all nodes (n,), -1 where unknown; read anew at every call."""
        labels, classes = self.array("labels"), len(self.manifest.class_names)
        check_range(labels, self.manifest.num_nodes, (-1, classes), self.path / "labels.npy")
        return torch.tensor(labels)

    def split(self, seed: int) -> Split:
        """The split that `elasticgnn train` draws first from this seed."""
        generator = torch.Generator().manual_seed(seed)
        return usual_split(self.outline, generator, own=self.manifest.own_files)

    @property
    def outline(self) -> NodeTask:
        """The task without edges and features: what splits are drawn from."""
        m, labels = self.manifest, self.labels  # which have been compared with the other sizes
        nothing = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), m.num_nodes)
        split = None
        if "train.npy" in m.files:
            split = Split(*(torch.tensor(self.array(name)) for name in ("train", "val", "test")))
        rule: Any = m.split_rule
        return NodeTask(
            m.name,
            nothing,
            torch.empty(m.num_nodes, 0),
            labels,
            m.class_names,
            node_ids=self.node_ids,
            split=split,
            split_rule=rule,
        )

    @property
    def node_ids(self) -> tuple[Any, ...] | None:
        """The ids of the nodes, None where they are numbers."""
        name = "node_ids.json"
        if name not in self.manifest.files:
            return None
        check_files(self.path, {name: self.manifest.files[name]})
        return tuple(json.loads((self.path / name).read_text("utf-8")))

    def task(self) -> NodeTask:
        """All parts put together again: the task that was partitioned, in one memory."""
        from dataclasses import replace

        numbers = range(len(self.manifest.parts))
        parts = [self.part(number) for number in numbers]
        features = joined([self.features(number) for number in numbers])
        m = self.manifest
        names: dict[str, Any] = {"feature_names": m.feature_names, "categories": m.categories}
        return replace(self.outline, graph=whole_graph(parts, m), features=features, **names)


def whole_graph(parts: list[Part], manifest: Manifest) -> Graph:
    """The graph put together again from all of its parts."""
    tail = np.concatenate([np.repeat(part.nodes, np.diff(part.start)) for part in parts])
    head = np.concatenate([part.neighbour for part in parts]).astype(np.int64)
    up = np.flatnonzero(tail < head)
    order = up[np.lexsort((head[up], tail[up]))]
    weight = np.ones(len(order))
    if parts[0].weight is not None:
        stored = [part.weight for part in parts if part.weight is not None]
        weight = np.concatenate(stored)[order]
    edges = Edges(*(torch.from_numpy(array) for array in (tail[order], head[order], weight)))
    unit = bool((edges.weight == 1).all())
    return Graph(edges, manifest.num_nodes, normalization=manifest.normalization, unit=unit)


def joined(parts: list[PartFeatures]) -> Tensor | SparseFeatures:
    """Feature rows of all parts in the order of global ids."""
    order = torch.cat([part.nodes for part in parts]).argsort()
    dense = [part.rows for part in parts if isinstance(part.rows, Tensor)]
    if dense:
        return torch.cat(dense)[order]
    sparse = [part.rows for part in parts if isinstance(part.rows, SparseFeatures)]
    count = torch.cat([rows.start.diff() for rows in sparse])
    start = torch.cat([count.new_zeros(1), count.cumsum(0)])
    column, value = (
        torch.cat([getattr(rows, name) for rows in sparse]) for name in ("column", "value")
    )
    return SparseFeatures(start, column, value, sparse[0].num_columns).rows(order)
