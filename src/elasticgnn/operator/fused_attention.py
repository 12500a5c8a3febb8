"""Attention of nodes to their neighbours by the compiled loops; nn/attention.py says what it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.kernels import native


def fits_kernel(*parts: Tensor) -> bool:
    """Whether the loops are there and take these: numbers in float32 on the CPU."""
    return native is not None and all(
        part.dtype == torch.float32 and part.device.type == "cpu" and part.numel() > 0
        for part in parts
    )


def attend_fused(
    rows: Tensor, target: Tensor, source: Tensor, start: Tensor, column: Tensor
) -> Tensor:
    """From rows (n, h c), scores (n, h) and a symmetric CSR pattern with self-loops: (n, h c)."""
    apply: Any = FusedAttention.apply  # torch gives it no types
    inputs = (part.contiguous() for part in (rows, target, source))
    result: Tensor = apply(*inputs, start, column, torch.is_grad_enabled())
    return result


class FusedAttention(torch.autograd.Function):
    """Differentiable once, in rows and scores; kernels/attention.h names what is kept for it."""

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        target: Tensor,
        source: Tensor,
        start: Tensor,
        column: Tensor,
        keep: bool,
    ) -> Tensor:
        assert native is not None
        keep = keep and any(ctx.needs_input_grad)
        heads, channels = target.shape[1], rows.shape[1] // target.shape[1]
        group, packed = packed_shape(len(rows), heads, channels)
        result, scratch = torch.empty_like(rows), rows.new_empty(len(rows), group)
        per_head = [torch.empty_like(target) for _ in range(3)] if keep else []
        rooms = [rows.new_empty(packed) for _ in range(3 if keep else 1)]
        addresses = [part.data_ptr() for part in per_head] or [0] * 3
        addresses += [part.data_ptr() for part in rooms] if keep else [rooms[0].data_ptr(), 0, 0]
        inputs = (part.data_ptr() for part in (rows, target, source, result))
        graph, threads = neighbours(start, column), torch.get_num_threads()
        native.attention_forward(
            graph, heads, channels, *inputs, *addresses, scratch.data_ptr(), threads
        )
        ctx.pattern = start, column
        ctx.save_for_backward(target, source, *per_head, *rooms)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        assert native is not None
        grad = grad.contiguous()
        target, source = ctx.saved_tensors[:2]
        heads, channels = target.shape[1], grad.shape[1] // target.shape[1]
        group, packed = packed_shape(len(grad), heads, channels)
        scratch = grad.new_empty(len(grad), packed[-1] + 4 * group)
        results = torch.empty_like(grad), torch.empty_like(target), torch.empty_like(source)
        arrays = (grad, *ctx.saved_tensors, *results, scratch)
        addresses = (part.data_ptr() for part in arrays)
        threads = torch.get_num_threads()
        native.attention_backward(neighbours(*ctx.pattern), heads, channels, *addresses, threads)
        return *results, None, None, None


def packed_shape(nodes: int, heads: int, channels: int) -> tuple[int, tuple[int, int, int]]:
    """Heads per group, and (groups, n, width) of packed rows: see kernels/attention.h."""
    group = 1 if heads == 1 else 8
    return group, (-(-heads // group), nodes, -(-channels * group // 16) * 16)


def neighbours(start: Tensor, column: Tensor) -> Any:
    assert native is not None
    return native.SparseRows(len(start) - 1, start.data_ptr(), column.data_ptr(), 0, 0)
