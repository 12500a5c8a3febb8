"""What part each node had in a model's training, by what the model file keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elasticgnn.data import NodeTask
from elasticgnn.training.model.trained_model import TrainedModel

TRAINED, HELD_OUT, UNKNOWN = "trained on", "held out", "unknown"


def node_roles(trained: TrainedModel, task: NodeTask) -> list[str] | None:
    """Of each node: trained on, held out (known, but kept from training), or unknown.

    None where the file does not say, or says it by number about other data than `task`.
    """
    split, by_id = trained.facts.get("split"), trained.facts.get("split_by_id")
    if not isinstance(split, dict) or by_id is None:
        return None
    if not by_id and trained.data.get("fingerprint") != task.fingerprint:
        return None
    role = dict.fromkeys(map(str, (*split.get("val", ()), *split.get("test", ()))), HELD_OUT)
    role |= dict.fromkeys(map(str, split.get("train", ())), TRAINED)
    ids = task.ids if by_id else range(task.num_nodes)
    return [role.get(str(node), UNKNOWN) for node in ids]


def scored_nodes(trained: TrainedModel, task: NodeTask) -> NDArray[np.int64]:
    """The test nodes of the model's own split, else all nodes of known class."""
    test = (trained.facts.get("split") or {}).get("test")
    if not test or trained.data.get("fingerprint") != task.fingerprint:
        return task.labelled.numpy()
    if trained.facts.get("split_by_id"):
        place = {name: node for node, name in enumerate(task.ids)}
        return np.array([place[name] for name in test if name in place], dtype=np.int64)
    numbers = all(isinstance(node, int) and 0 <= node < task.num_nodes for node in test)
    return np.array(test) if numbers else task.labelled.numpy()
