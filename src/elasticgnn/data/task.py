"""A node classification task: graph, features, labels, and which nodes are for what."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from elasticgnn.data.split import Split, SplitRule, check_split
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


@dataclass(frozen=True, eq=False)
class NodeTask:
    """A graph whose nodes have features (n, f) and, some of them, a known class.

    labels: (n,) int64, the position in `class_names`, -1 where unknown.
    split: the fixed split that came with the data, if any; split_rule: what `paper_split` draws.
    feature_names: of the columns, where the data name them; made_features: that the features are
    stand-ins made from the graph; categories: of words, whose columns are called `name=word`;
    missing (k, 2): row and column of values that were not given and hold the column's median.
    values: (n,) float64, the number to predict in place of a class, NaN where unknown.
    label_columns: further texts per node, for splits by group or time.

    >>> task.num_nodes, task.num_features, task.num_classes
    (60, 16, 2)
    >>> task.largest_component().num_nodes <= task.num_nodes
    True
    """

    name: str
    graph: Graph
    features: Tensor | SparseFeatures
    labels: Tensor
    class_names: tuple[str, ...]
    node_ids: tuple[Hashable, ...] | None = None
    split: Split | None = None
    notes: tuple[str, ...] = ()
    split_rule: SplitRule = "10-10-80"
    feature_names: tuple[str, ...] | None = None
    made_features: bool = False
    categories: tuple[str, ...] = ()
    missing: Tensor | None = None
    values: Tensor | None = None
    label_columns: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = self.graph.num_nodes
        if len(self.features.shape) != 2 or self.features.shape[0] != n:
            raise ValueError(f"features must be ({n}, f), got {tuple(self.features.shape)}")
        check_finite(self.features)
        if self.labels.shape != (n,) or self.labels.dtype != torch.int64:
            raise ValueError(
                f"labels must be ({n},) int64, got {tuple(self.labels.shape)} {self.labels.dtype}"
            )
        check_labels(self.labels, len(self.class_names))
        check_values(self.values, n, self.class_names)
        if self.node_ids is not None and len(self.node_ids) != n:
            raise ValueError(f"node_ids must be {n} ids, got {len(self.node_ids)}")
        if self.feature_names is not None and len(self.feature_names) != self.num_features:
            raise ValueError(
                f"feature_names must be {self.num_features} names, got {len(self.feature_names)}"
            )
        check_split(self.split, self.split_rule, n)

    @classmethod
    def from_pyg(cls, data: Any, *, name: str = "task") -> NodeTask:
        """The task of a torch_geometric Data; see `elasticgnn.data.convert`."""
        from elasticgnn.data import convert

        return convert.from_pyg(data, name=name)

    @classmethod
    def from_networkx(cls, graph: Any, *, label: str = "label", name: str = "task") -> NodeTask:
        """The task of a networkx graph whose nodes carry their class as attribute `label`."""
        from elasticgnn.data import convert

        return convert.from_networkx(graph, label=label, name=name)

    @classmethod
    def from_scipy(
        cls,
        adjacency: Any,
        features: Any = None,
        labels: Sequence[Any] | None = None,
        *,
        name: str = "task",
    ) -> NodeTask:
        """The task of a symmetric sparse adjacency, a feature matrix, and labels."""
        from elasticgnn.data import convert

        return convert.from_scipy(adjacency, features, labels, name=name)

    def to_pyg(self) -> Any:
        """A torch_geometric Data with dense x, y, both directions of the edges, and masks."""
        from elasticgnn.data import convert

        return convert.to_pyg(self)

    def to_networkx(self) -> Any:
        """A networkx graph over the node ids."""
        from elasticgnn.data import convert

        return convert.to_networkx(self)

    def to_scipy(self) -> tuple[Any, Any, list[str | None]]:
        """Adjacency (csr_array), features (csr_array, or numpy if dense), class names or None."""
        from elasticgnn.data import convert

        return convert.to_scipy(self)

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return self.graph.num_nodes

    @property
    def ids(self) -> Sequence[Hashable]:
        """What the nodes are called: their ids, or their numbers where they have none."""
        return range(self.num_nodes) if self.node_ids is None else self.node_ids

    @property
    def num_classes(self) -> int:
        """Number of classes c."""
        return len(self.class_names)

    @property
    def num_outputs(self) -> int:
        """How many numbers a model gives a node: one per class, or the one to predict."""
        return self.num_classes if self.values is None else 1

    @property
    def num_features(self) -> int:
        """Number of features f."""
        return int(self.features.shape[1])

    @cached_property
    def labelled(self) -> Tensor:
        """Nodes whose class (or number) is known, ascending."""
        known = self.labels >= 0 if self.values is None else ~self.values.isnan()
        return known.nonzero().flatten()

    @cached_property
    def fingerprint(self) -> str:
        """Hex digest of what a model can see: graph, features, labels, class names."""
        digest = hashlib.sha256(self.graph.fingerprint.encode())
        if isinstance(self.features, SparseFeatures):
            digest.update(self.features.fingerprint.encode())
        else:
            digest.update(f"{tuple(self.features.shape)} {self.features.dtype}".encode())
            digest.update(self.features.detach().cpu().contiguous().numpy().tobytes())
        digest.update(self.labels.cpu().contiguous().numpy().tobytes())
        digest.update("\0".join(self.class_names).encode())
        if self.values is not None:
            digest.update(self.values.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def with_graph(self, graph: Graph, note: str | None = None) -> NodeTask:
        """The same nodes on another graph."""
        notes = self.notes if note is None else (*self.notes, note)
        return replace(self, graph=graph, notes=notes)

    def with_split(self, split: Split | None) -> NodeTask:
        """The same task with another fixed split."""
        return replace(self, split=split)

    def largest_component(self) -> NodeTask:
        """The task on the largest connected component, nodes in their old order."""
        if self.split is not None:
            raise ValueError("task must have no fixed split to be cut down, got one")
        graph, nodes = self.graph.largest_component()
        ids = self.node_ids
        return replace(
            self,
            graph=graph,
            features=feature_rows(self.features, nodes),
            labels=self.labels[nodes],
            values=None if self.values is None else self.values[nodes],
            missing=missing_of(self.missing, nodes),
            label_columns={
                name: tuple(texts[i] for i in nodes.tolist())
                for name, texts in self.label_columns.items()
            },
            node_ids=None if ids is None else tuple(ids[i] for i in nodes.tolist()),
        )


def feature_rows(features: Tensor | SparseFeatures, nodes: Tensor) -> Tensor | SparseFeatures:
    """The rows `nodes` of sparse or dense features."""
    return features.rows(nodes) if isinstance(features, SparseFeatures) else features[nodes]


def missing_of(missing: Tensor | None, nodes: Tensor) -> Tensor | None:
    """The places of missing values among the rows `nodes`, counted within these."""
    if missing is None:
        return None
    place = torch.full((int(max(nodes.max(), missing[:, 0].max())) + 1,), -1)
    place[nodes] = torch.arange(len(nodes))
    rows = place[missing[:, 0]]
    return torch.stack([rows, missing[:, 1]], dim=1)[rows >= 0]


def check_values(values: Tensor | None, num_nodes: int, class_names: tuple[str, ...]) -> None:
    """Refuses numbers to predict of another length or type, and beside classes."""
    if values is None:
        return
    if values.shape != (num_nodes,) or values.dtype != torch.float64:
        raise ValueError(
            f"values must be ({num_nodes},) float64, got {tuple(values.shape)} {values.dtype}"
        )
    if class_names or bool(torch.isinf(values).any()):
        raise ValueError("values must be finite (or NaN) and stand alone, got classes or infinity")


def check_finite(features: Tensor | SparseFeatures, first_row: int = 0) -> None:
    """Refuses NaN and infinity, and says where the first one is; rows count from `first_row`."""
    values = features.value if isinstance(features, SparseFeatures) else features
    bad = (~torch.isfinite(values)).nonzero()
    if len(bad) == 0:
        return
    place = tuple(bad[0].tolist())
    found = float(values[place])
    if isinstance(features, SparseFeatures):
        place = int(features.row[place[0]]), int(features.column[place[0]])
    row = first_row + place[0]
    raise ValueError(f"features must be finite, got {found} in row {row}, column {place[1]}")


def check_labels(labels: Tensor, num_classes: int) -> None:
    """Refuses labels outside -1 .. num_classes - 1."""
    if len(labels) == 0:
        return
    low, high = int(labels.min()), int(labels.max())
    if low < -1 or high >= num_classes:
        raise ValueError(f"labels must be in -1..{num_classes - 1}, got {low}..{high}")
