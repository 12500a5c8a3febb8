"""What always naming the most frequent class is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from elasticgnn.data import NodeTask, Split


@dataclass(frozen=True)
class Majority:
    """The most frequent class, and the share of test nodes that have it."""

    name: str
    accuracy: float


def majority_class(task: NodeTask, splits: Sequence[Split]) -> Majority:
    """The most frequent class among known nodes, measured on the test nodes of all splits."""
    count = torch.bincount(task.labels[task.labelled], minlength=task.num_classes)
    largest = int(count.argmax())
    nodes = torch.cat([split.test for split in splits])
    share = float((task.labels[nodes] == largest).double().mean())
    return Majority(task.class_names[largest], share)
