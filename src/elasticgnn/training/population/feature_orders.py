"""A feature matrix by rows and by columns, as the compiled loops read it."""

from __future__ import annotations

import torch
from torch import Tensor

from elasticgnn.features import SparseFeatures
from elasticgnn.kernels import native

MOST_DENSE_VALUES = 20_000_000  # each takes 4 bytes as it is, 24 stored in both orders


class FeatureOrders:
    """Both orders of one sparse matrix; holds the arrays whose addresses the loops are given."""

    def __init__(self, features: SparseFeatures) -> None:
        assert native is not None
        self.nodes, self.features = features.shape
        self.entries = features.num_values
        transpose, entry = features.transpose, features.transpose_entry
        self._held = (features, transpose, entry)
        self.rows = native.SparseRows(self.nodes, *addresses(features), 0)
        self.columns = native.SparseRows(self.features, *addresses(transpose), entry.data_ptr())


def addresses(matrix: SparseFeatures) -> list[int]:
    """Where the arrays of the matrix lie in memory."""
    parts = (matrix.start, matrix.column, matrix.value)
    assert all(part.is_contiguous() for part in parts)
    return [part.data_ptr() for part in parts]


def can_be_stored(features: Tensor | SparseFeatures) -> bool:
    """Whether both orders of the features fit beside them: not those of a large dense matrix."""
    return isinstance(features, SparseFeatures) or features.numel() <= MOST_DENSE_VALUES


def stored(features: Tensor | SparseFeatures) -> SparseFeatures:
    """The same features in float32 with only non-zero values stored, one after another."""
    if isinstance(features, Tensor):
        features = SparseFeatures.from_dense(features)
    value = features.value.to(torch.float32).contiguous().resolve_neg()
    return features if value is features.value else features.with_value(value)
