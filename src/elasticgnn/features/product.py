"""Features times a weight matrix: sparse or dense, with dropout of the stored values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.features.dropout import DropoutNoise, RowNoise, drop_threshold
from elasticgnn.features.sparse_features import SparseFeatures
from elasticgnn.kernels import native
from elasticgnn.kernels.transforms import (
    is_many_or_pushed_forward,
    is_transformed,
    needs_plain_torch,
)

INPUT_SITE = 0


def feature_product(
    features: Tensor | SparseFeatures,
    weight: Tensor,
    noise: DropoutNoise | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """features (n, f) times weight (f, d); with noise, stored values are dropped first.

    >>> from elasticgnn.features import SparseFeatures, feature_product
    >>> feature_product(SparseFeatures.identity(3), torch.ones(3, 2)).tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    if weight.ndim != 2 or len(weight) != features.shape[1]:
        raise ValueError(
            f"weight must be ({features.shape[1]}, d) for these features, got {tuple(weight.shape)}"
        )
    if isinstance(features, Tensor):
        if noise is not None:
            features = noise(features, dropout, INPUT_SITE)
        return features @ weight
    if torch.promote_types(features.dtype, weight.dtype) != weight.dtype:
        raise ValueError(
            f"features must be {weight.dtype} as the weight is, got {features.dtype}: take "
            f"features.to({weight.dtype})"
        )
    if noise is None or dropout == 0:
        return sparse_product(features, features.value, weight)
    entries = entry_numbers(features, noise)
    if entries is not None and fits_dropped(features, weight):
        apply: Any = DroppedProduct.apply  # torch gives it no types
        product: Tensor = apply(features, weight, noise, dropout, entries)
        return product
    return sparse_product(features, dropped_values(features, noise, dropout), weight)


def dropped_values(features: SparseFeatures, noise: DropoutNoise, dropout: float) -> Tensor:
    """The stored values, scaled, and 0 where dropout takes them."""
    keep = noise.keep(features.num_values, dropout, INPUT_SITE, features.device)
    return features.value * keep * (1 / (1 - dropout))


Entries = tuple[Tensor | None, Tensor]


def entry_numbers(features: SparseFeatures, noise: DropoutNoise) -> Entries | None:
    """The positions of the values in the masks, by rows and by columns; None if there are none."""
    if type(noise) is RowNoise:
        return noise.entries
    return (None, features.transpose_entry) if type(noise) is DropoutNoise else None


def fits_dropped(features: SparseFeatures, weight: Tensor) -> bool:
    """Whether `DroppedProduct` takes these: float32 on the CPU, and no gradient of the values."""
    followed = is_transformed() or needs_plain_torch() or features.value.requires_grad
    return (
        native is not None and not followed and fits_kernel(features.value) and fits_kernel(weight)
    )


class DroppedProduct(torch.autograd.Function):
    """`sparse_product` with `dropped_values`, of which the compiled loop sees the kept ones only.

    Where a graph of the gradient is wanted, it is the one of the values with zeros.
    """

    @staticmethod
    def forward(
        features: SparseFeatures,
        weight: Tensor,
        noise: DropoutNoise,
        dropout: float,
        entries: Entries,
    ) -> Tensor:
        """The product (n, h)."""
        return multiply_dropped(features, entries[0], noise, dropout, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keeps what the gradient needs."""
        ctx.features, _, ctx.noise, ctx.dropout, ctx.entries = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, None, None, None]:
        """The gradient of the weight."""
        features, noise, dropout = ctx.features, ctx.noise, ctx.dropout
        if torch.is_grad_enabled() or is_many_or_pushed_forward(grad):
            value = dropped_values(features, noise, dropout)[features.transpose_order]
            times = multiply_plainly if is_many_or_pushed_forward(grad) else sparse_product
            return None, times(features.transpose, value, grad), None, None, None
        by_weight = multiply_dropped(features.transpose, ctx.entries[1], noise, dropout, grad)
        return None, by_weight, None, None, None


def multiply_dropped(
    features: SparseFeatures,
    entry: Tensor | None,
    noise: DropoutNoise,
    dropout: float,
    dense: Tensor,
) -> Tensor:
    """What dropout leaves of `features`, scaled, times `dense`; `entry` numbers the values."""
    assert native is not None
    given = (features.start, features.column, features.value, dense)
    *arrays, dense = (part.contiguous().resolve_neg() for part in given)
    out = dense.new_empty(len(features), dense.shape[1])
    addresses = [part.data_ptr() for part in arrays]
    rows = native.SparseRows(len(features), *addresses, 0 if entry is None else entry.data_ptr())
    native.dropped_product(
        rows,
        noise.key(INPUT_SITE),
        drop_threshold(dropout),
        1 / (1 - dropout),
        dense.data_ptr(),
        out.data_ptr(),
        dense.shape[1],
        torch.get_num_threads(),
    )
    return out


def sparse_product(features: SparseFeatures, value: Tensor, weight: Tensor) -> Tensor:
    """The pattern of `features` with `value` (k,) times weight (f, d); differentiable in both."""
    if needs_plain_torch():
        return multiply_plainly(features, value, weight)
    apply: Any = SparseProduct.apply  # torch gives it no types
    product: Tensor = apply(features, value, weight)
    return product


class SparseProduct(torch.autograd.Function):
    """Differentiable any number of times: the derivative in the weight is a sparse product too."""

    @staticmethod
    def forward(features: SparseFeatures, value: Tensor, weight: Tensor) -> Tensor:
        """features @ weight, (n, h)."""
        return multiply(features, value, weight)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keeps what the gradient needs."""
        features, value, weight = inputs
        ctx.features, ctx.own_values = features, value is features.value
        ctx.save_for_backward(value, weight if ctx.needs_input_grad[1] else None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        """Gradients of the stored values and of the weight."""
        value, weight = ctx.saved_tensors
        features: SparseFeatures = ctx.features
        by_value = by_weight = None
        if ctx.needs_input_grad[1]:
            column = features.column.long()
            by_value = (grad.index_select(0, features.row) * weight.index_select(0, column)).sum(1)
        if ctx.needs_input_grad[2]:
            transpose = features.transpose
            if ctx.own_values and not value.requires_grad:
                value = transpose.value
            else:
                value = value.index_select(0, features.transpose_order)
            times = sparse_product if torch.is_grad_enabled() else multiply
            times = multiply_plainly if is_many_or_pushed_forward(grad) else times
            by_weight = times(transpose, value, grad)
        return None, by_value, by_weight


def multiply(features: SparseFeatures, value: Tensor, dense: Tensor) -> Tensor:
    """The pattern of `features` with `value` instead of its own, times `dense`."""
    if native is not None and fits_kernel(value) and fits_kernel(dense):
        # a negated view keeps its flag when it is made contiguous
        value, dense = (part.contiguous().resolve_neg() for part in (value, dense))
        return multiply_fused(features, value, dense)
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
    """Whether the compiled loops take the tensor: float32 on the CPU."""
    return x.dtype == torch.float32 and x.device.type == "cpu"
