"""Features as the literature on attacks has them: 1 where a word is present, else 0."""

from dataclasses import replace

import torch

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures


def as_presence(task: NodeTask) -> NodeTask:
    """The task with features 0 and 1 only.

    >>> from elasticgnn.robustness.presence import as_presence
    >>> as_presence(task).features.to_dense().unique().tolist()
    [0.0, 1.0]
    """
    x = task.features
    if isinstance(x, SparseFeatures):
        present = x.with_value(torch.ones_like(x.value))
        return replace(task, features=present)
    return replace(task, features=(x != 0).to(x.dtype))
