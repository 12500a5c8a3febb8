"""Features times a weight matrix: sparse or dense, with dropout of the stored values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.features.sparse_features import SparseFeatures

INPUT_SITE = 0


def feature_product(
    features: Tensor | SparseFeatures,
    weight: Tensor,
    noise: DropoutNoise | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """features (n, f) times weight (f, d); with noise, stored values are dropped first."""
    if weight.ndim != 2 or len(weight) != features.shape[1]:
        raise ValueError(
            f"weight must be ({features.shape[1]}, d) for these features, got {tuple(weight.shape)}"
        )
    if isinstance(features, Tensor):
        if noise is not None:
            features = noise(features, dropout, INPUT_SITE)
        return features @ weight
    if noise is not None and dropout > 0:
        keep = noise.keep(features.num_values, dropout, INPUT_SITE)
        value = features.value * keep.to(features.device) * (1 / (1 - dropout))
    else:
        value = features.value
    product: Tensor = SparseProduct.apply(features, value, weight)  # type: ignore[no-untyped-call]  # torch's
    return product


class SparseProduct(torch.autograd.Function):
    """CSR pattern with values (k,) times weight (f, d); differentiable in the weight."""

    @staticmethod
    def forward(ctx: Any, features: SparseFeatures, value: Tensor, weight: Tensor) -> Tensor:
        ctx.features = features
        ctx.save_for_backward(value)
        return multiply(features, value, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        (value,) = ctx.saved_tensors
        features: SparseFeatures = ctx.features
        return (
            None,
            None,
            multiply(features.transpose, value[features.transpose_order], grad),
        )


def multiply(features: SparseFeatures, value: Tensor, dense: Tensor) -> Tensor:
    """The pattern of `features` with `value` instead of its own, times `dense`."""
    out = dense.new_zeros(len(features), dense.shape[1])
    return out.index_add(0, features.row, value[:, None] * dense[features.column.long()])
