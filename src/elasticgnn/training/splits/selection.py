"""All known nodes for training, except a share of each class that selects the epoch."""

import torch
from torch import Tensor

from elasticgnn.data import Split


def selection_split(labels: Tensor, share: float, generator: torch.Generator) -> Split:
    """Known nodes (label >= 0) as training and validation nodes; nothing is left for testing.

    Each class keeps at least one training node.
    """
    if not 0 <= share < 1:
        raise ValueError(f"validation_share must be in [0, 1), got {share}")
    classes = torch.unique(labels[labels >= 0]).tolist()
    if len(classes) < 2:
        raise ValueError(f"labels must show at least 2 classes, got {len(classes)}")
    train, val = [], []
    for label in classes:
        nodes = (labels == label).nonzero().flatten()
        nodes = nodes[torch.randperm(len(nodes), generator=generator)]
        count = min(round(share * len(nodes)), len(nodes) - 1)
        val.append(nodes[:count])
        train.append(nodes[count:])
    nothing = torch.empty(0, dtype=torch.int64)
    return Split(torch.cat(train), torch.cat(val), nothing)
