"""Features times a weight matrix: sparse or dense, with dropout of the stored values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.features.sparse_features import SparseFeatures
from elasticgnn.kernels import native

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
    apply: Any = SparseProduct.apply  # torch gives it no types
    product: Tensor = apply(features, value, weight)
    return product


class SparseProduct(torch.autograd.Function):
    """CSR pattern with values (k,) times weight (f, d); differentiable in the weight."""

    @staticmethod
    def forward(ctx: Any, features: SparseFeatures, value: Tensor, weight: Tensor) -> Tensor:
        ctx.features, ctx.own_values = features, value is features.value
        ctx.save_for_backward(value)
        return multiply(features, value, weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, None, Tensor]:
        (value,) = ctx.saved_tensors
        features: SparseFeatures = ctx.features
        transpose = features.transpose
        if not ctx.own_values:
            return (
                None,
                None,
                multiply(transpose, value.index_select(0, features.transpose_order), grad),
            )
        return None, None, multiply(transpose, transpose.value, grad)


def multiply(features: SparseFeatures, value: Tensor, dense: Tensor) -> Tensor:
    """The pattern of `features` with `value` instead of its own, times `dense`."""
    if native is not None and fits_kernel(value) and fits_kernel(dense):
        return multiply_fused(features, value.contiguous(), dense.contiguous())
    return multiply_plainly(features, value, dense)


def multiply_plainly(features: SparseFeatures, value: Tensor, dense: Tensor) -> Tensor:
    """What `multiply` gives, in plain torch."""
    out = dense.new_zeros(len(features), dense.shape[1])
    return out.index_add(0, features.row, value[:, None] * dense[features.column.long()])


def multiply_fused(features: SparseFeatures, value: Tensor, dense: Tensor) -> Tensor:
    """What `multiply` gives, by the compiled loop."""
    assert native is not None
    out = dense.new_empty(len(features), dense.shape[1])
    start, column = features.start.contiguous(), features.column.contiguous()
    arrays = (part.data_ptr() for part in (start, column, value))
    rows = native.SparseRows(len(features), *arrays, 0)
    threads = torch.get_num_threads()
    native.sparse_product(rows, dense.data_ptr(), out.data_ptr(), dense.shape[1], threads)
    return out


def fits_kernel(x: Tensor) -> bool:
    return x.dtype == torch.float32 and x.device.type == "cpu"
