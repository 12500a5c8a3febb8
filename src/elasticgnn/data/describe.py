"""Facts of a task before anything is trained on it."""

import math
from typing import Any

from elasticgnn.data.homophily import homophily
from elasticgnn.data.task import NodeTask


def describe(task: NodeTask) -> dict[str, Any]:
    """What one wants to know of a task before training on it."""
    sizes = [int((task.labels == label).sum()) for label in range(task.num_classes)]
    within, _ = homophily(task)
    return {
        "name": task.name,
        "nodes": task.num_nodes,
        "edges": task.graph.num_edges,
        "components": task.graph.num_components,
        "features": task.num_features,
        "stored feature values": getattr(task.features, "num_values", None),
        "classes": dict(zip(task.class_names, sizes, strict=True)),
        "unlabelled": task.num_nodes - sum(sizes),
        "edges within a class": None if math.isnan(within) else within,
        "split rule": task.split_rule,
        "fixed split": None if task.split is None else list(task.split.sizes),
        "fingerprint": task.fingerprint,
        "notes": list(task.notes),
    }
