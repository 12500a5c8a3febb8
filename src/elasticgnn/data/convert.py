"""Tasks from and to torch_geometric, networkx and scipy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from elasticgnn.data.labels import is_unknown, number_known, plain_list
from elasticgnn.data.own.stand_ins import NOTE, structural_features
from elasticgnn.data.split import SPLIT_PARTS, Split
from elasticgnn.data.task import NodeTask
from elasticgnn.extras import optional_imports
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph


def from_pyg(data: Any, *, name: str = "task") -> NodeTask:
    """The task of a torch_geometric Data: edge_index, x, y and, if complete, its split masks.

    y may hold -1 where the class is unknown. Both directions of every edge must be there.
    """
    graph = Graph.from_pyg(data)
    x, y = getattr(data, "x", None), getattr(data, "y", None)
    labels = torch.full((graph.num_nodes,), -1) if y is None else pyg_labels(y, graph.num_nodes)
    num_classes = int(labels.max()) + 1 if len(labels) else 0
    return NodeTask(
        name=name,
        graph=graph,
        features=structural_features(graph) if x is None else pyg_features(x),
        labels=labels,
        class_names=tuple(str(number) for number in range(num_classes)),
        split=split_from_masks(data),
        notes=(NOTE,) if x is None else (),
        made_features=x is None,
    )


def pyg_labels(y: Tensor, num_nodes: int) -> Tensor:
    """One class number per node; -1 and nan are unknown."""
    column = y.flatten().double().nan_to_num(-1.0)
    if len(column) != num_nodes or not torch.equal(column, column.round()):
        raise ValueError(f"y must be ({num_nodes},) whole numbers, got {tuple(y.shape)} {y.dtype}")
    return column.long()


def pyg_features(x: Tensor) -> Tensor | SparseFeatures:
    """Dense rows as they are; torch's sparse layouts as SparseFeatures."""
    if x.layout == torch.strided:
        return x
    entries = x.to_sparse(layout=torch.sparse_coo).coalesce()
    row, column = entries.indices()
    count = torch.bincount(row, minlength=len(x))
    start = torch.cat([count.new_zeros(1), count.cumsum(0)])
    return SparseFeatures(start, column.to(torch.int32), entries.values(), x.shape[1])


def split_from_masks(data: Any) -> Split | None:
    """The split of train_mask, val_mask and test_mask when all three are one column."""
    masks = [getattr(data, f"{part}_mask", None) for part in SPLIT_PARTS]
    nodes = [mask.nonzero().flatten() for mask in masks if mask is not None and mask.ndim == 1]
    return Split(*nodes) if len(nodes) == len(SPLIT_PARTS) else None


def to_pyg(task: NodeTask) -> Any:
    """A torch_geometric Data with x (dense), y, edge_index, edge_weight and masks of the split."""
    data = task.graph.to_pyg()
    sparse = isinstance(task.features, SparseFeatures)
    data.x = task.features.to_dense() if sparse else task.features
    data.y = task.labels
    if task.split is not None:
        for part in SPLIT_PARTS:
            mask = torch.zeros(task.num_nodes, dtype=torch.bool)
            mask[getattr(task.split, part)] = True
            data[f"{part}_mask"] = mask
    return data


def from_networkx(graph: Any, *, label: str = "label", name: str = "task") -> NodeTask:
    """The task of an undirected networkx graph; classes are the node attribute `label`.

    Features are the node attribute "x" when every node has it, else stand-ins.
    """
    names = [data.get(label) for _, data in graph.nodes(data=True)]
    rows = [data.get("x") for _, data in graph.nodes(data=True)]
    built = Graph.from_networkx(graph)
    given = bool(rows) and all(row is not None for row in rows)
    class_names, labels = number_labels(names)
    return NodeTask(
        name=name,
        graph=built,
        features=networkx_features(graph) if given else structural_features(built),
        labels=labels,
        class_names=class_names,
        node_ids=tuple(graph.nodes),
        notes=() if given else (NOTE,),
        made_features=not given,
    )


def networkx_features(graph: Any) -> Tensor:
    """The node attribute "x" of every node as one row of numbers."""
    rows: list[Tensor] = []
    for node, row in graph.nodes(data="x"):
        try:
            rows.append(torch.as_tensor(row, dtype=torch.float32).flatten())
        except (TypeError, ValueError, RuntimeError):
            rows.append(torch.empty(0))
        if len(rows[-1]) != len(rows[0]) or len(rows[0]) == 0:
            count = len(rows[0]) if len(rows) > 1 else "some"
            raise ValueError(f"'x' of node {node!r} must be {count} numbers, got {row!r:.40}")
    return torch.stack(rows)


def to_networkx(task: NodeTask) -> Any:
    """A networkx graph with node ids, attribute "label" where known, and "x" if dense."""
    with optional_imports():
        import networkx

    ids = task.ids
    result = networkx.relabel_nodes(task.graph.to_networkx(), dict(enumerate(ids)))
    for node, label in zip(ids, task.labels.tolist(), strict=True):
        if label >= 0:
            result.nodes[node]["label"] = task.class_names[label]
    if isinstance(task.features, Tensor):
        for node, row in zip(ids, task.features.tolist(), strict=True):
            result.nodes[node]["x"] = row
    return result


def from_scipy(
    adjacency: Any, features: Any = None, labels: Sequence[Any] | None = None, *, name: str = "task"
) -> NodeTask:
    """The task of a symmetric scipy adjacency, a sparse or dense feature matrix, and labels.

    A label None is an unknown one, and so is -1 among whole numbers.
    """
    graph = Graph.from_scipy(adjacency)
    unknown = [None] * graph.num_nodes
    class_names, numbers = number_labels(unknown if labels is None else labels)
    if features is None:
        values: Tensor | SparseFeatures = structural_features(graph)
    elif hasattr(features, "tocsr"):
        values = SparseFeatures.from_scipy(features)
    else:
        values = torch.as_tensor(features).float()
    notes = (NOTE,) if features is None else ()
    return NodeTask(
        name, graph, values, numbers, class_names, notes=notes, made_features=features is None
    )


def to_scipy(task: NodeTask) -> tuple[Any, Any, list[str | None]]:
    """What `from_scipy` takes: adjacency, features, and each node's class name or None."""
    features = task.features
    values = features.to_scipy() if isinstance(features, SparseFeatures) else features.numpy()
    names = [None if label < 0 else task.class_names[label] for label in task.labels.tolist()]
    return task.graph.to_scipy(), values, names


def number_labels(labels: Any) -> tuple[tuple[str, ...], Tensor]:
    """Class names in order, and the number of each label, -1 where unknown."""
    texts = [None if is_unknown(label) else str(label) for label in plain_list(labels)]
    classes, numbers = number_known(texts)
    return tuple(classes), numbers
