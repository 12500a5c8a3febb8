"""What is done to features before a model sees them; kept with the model."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures

LIMIT = 10.0  # standard deviations beyond which a value is cut off


@dataclass(frozen=True)
class Preparation:
    """Columns become (x - center) / scale, cut off at ±10; sparse columns are only divided."""

    center: tuple[float, ...]
    scale: tuple[float, ...]

    def apply(self, task: NodeTask) -> NodeTask:
        """The task with prepared features."""
        features = scaled(task.features, torch.tensor(self.center), torch.tensor(self.scale))
        return replace(task, features=features)


def prepared_own(task: NodeTask) -> tuple[NodeTask, Preparation | None]:
    """A task of one's own files with prepared features, and how; stand-ins stay as they are."""
    if task.made_features:
        return task, None
    preparation = fit_preparation(task.features)
    return preparation.apply(task), preparation


def scaled(
    features: Tensor | SparseFeatures, center: Tensor, scale: Tensor
) -> Tensor | SparseFeatures:
    """(features - center) / scale, cut off at ±10; sparse columns are only divided."""
    if isinstance(features, SparseFeatures):
        return features.with_value(features.value / scale[features.column.long()])
    return ((features - center) / scale).clamp_(-LIMIT, LIMIT)


def fit_preparation(features: Tensor | SparseFeatures) -> Preparation:
    """Mean and deviation of dense columns; the largest value of sparse ones, if above 1."""
    width = int(features.shape[1])
    if isinstance(features, SparseFeatures):
        largest = torch.ones(width)
        column = features.column.long()
        largest.scatter_reduce_(0, column, features.value.abs().float(), "amax")
        return Preparation((0.0,) * width, tuple(largest.tolist()))
    deviation, mean = torch.std_mean(features.double(), dim=0, correction=0)
    scale = torch.where(deviation > 0, deviation, 1.0)
    return Preparation(tuple(mean.tolist()), tuple(scale.tolist()))
