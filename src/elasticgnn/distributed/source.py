"""What a partition is written of: a task in memory, or files that need not fit there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.distributed.assignment import partition
from elasticgnn.distributed.part import Part, cut_parts
from elasticgnn.features import SparseFeatures
from elasticgnn.training.model.trained_model import medians

Arrays = dict[str, NDArray[Any]]


class PartSource(Protocol):
    """A task that can be asked for its parts one after another."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of the manifest that describe the task itself."""

    @property
    def arrays(self) -> Arrays:
        """Arrays that belong to no part: labels, and a fixed split."""

    @property
    def node_ids(self) -> list[Any] | None:
        """The ids of the nodes, None where they are numbers."""

    def assignment(self, parts: int, method: str) -> NDArray[np.int32]:
        """The part of each node (n,)."""

    def parts(self, assignment: NDArray[np.int32]) -> Iterator[Part]:
        """The parts in their order."""

    def feature_arrays(self, nodes: NDArray[np.int64]) -> Arrays:
        """Rows of the features."""


class TaskSource:
    """A `NodeTask` in memory."""

    def __init__(self, task: NodeTask) -> None:
        if task.made_features:
            raise ValueError(
                "features must be given for a partition, got stand-ins made of the edges"
            )
        if task.values is not None:
            raise ValueError("labels must be classes for a partition, got numbers to predict")
        self.task = task

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.task.num_nodes

    @property
    def facts(self) -> dict[str, Any]:
        """Fields of the manifest that describe the task itself."""
        task = self.task
        return {
            "name": task.name,
            "fingerprint": task.fingerprint,
            "num_nodes": task.num_nodes,
            "num_edges": task.graph.num_edges,
            "normalization": task.graph.normalization,
            "class_names": task.class_names,
            "num_features": task.num_features,
            "feature_names": task.feature_names,
            "sparse": isinstance(task.features, SparseFeatures),
            "split_rule": task.split_rule,
            "categories": task.categories,
            "fill": medians(task),
        }

    @property
    def arrays(self) -> Arrays:
        """Labels, and the fixed split if there is one."""
        found = {"labels": self.task.labels.numpy()}
        if self.task.split is not None:
            names = ("train", "val", "test")
            found |= {name: getattr(self.task.split, name).numpy() for name in names}
        return found

    @property
    def node_ids(self) -> list[Any] | None:
        """The ids of the nodes, None where they are numbers."""
        return None if self.task.node_ids is None else list(self.task.node_ids)

    def assignment(self, parts: int, method: str) -> NDArray[np.int32]:
        """The part of each node (n,)."""
        found: NDArray[np.int32] = partition(self.task.graph, parts, method=method).numpy()
        return found

    def parts(self, assignment: NDArray[np.int32]) -> Iterator[Part]:
        """The parts in their order."""
        return cut_parts(self.task.graph, torch.from_numpy(assignment))

    def feature_arrays(self, nodes: NDArray[np.int64]) -> Arrays:
        """Rows; for sparse ones also where each row begins among all stored values."""
        index, features = torch.from_numpy(nodes), self.task.features
        if not isinstance(features, SparseFeatures):
            return {"features": features[index].numpy()}
        rows = features.rows(index)
        return {
            "feature_start": rows.start.numpy(),
            "feature_column": rows.column.numpy(),
            "feature_value": rows.value.numpy(),
            "feature_first": features.start[index].numpy(),
        }
