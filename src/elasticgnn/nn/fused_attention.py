"""Attention of nodes to their neighbours by the compiled loops; nn/attention.py says what it is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph.once import is_traced
from elasticgnn.kernels import native
from elasticgnn.kernels.transforms import is_many_or_pushed_forward, needs_plain_torch
from elasticgnn.nn.plain_attention import AttentionPattern, attend_plainly


def fits_kernel(*parts: Tensor) -> bool:
    """Whether the loops are there and take these: numbers in float32 on the CPU, unwatched."""
    watched = is_traced() or needs_plain_torch()
    return (native is not None and not watched) and all(
        part.dtype == torch.float32 and part.device.type == "cpu" and part.numel() > 0
        for part in parts
    )


def attend_fused(
    rows: Tensor,
    target: Tensor,
    source: Tensor,
    pattern: AttentionPattern,
    factor: Tensor | None = None,
) -> Tensor:
    """What `attend_plainly` gives, by the compiled loops."""
    apply: Any = FusedAttention.apply  # torch gives it no types
    inputs = (part.contiguous().resolve_neg() for part in (rows, target, source))
    factor = None if factor is None else factor.contiguous().resolve_neg()
    result: Tensor = apply(*inputs, factor, pattern, torch.is_grad_enabled())
    return result


class FusedAttention(torch.autograd.Function):
    """Differentiable in rows and scores; kernels/attention/problem.h names what is saved for it.

    Where a graph of the gradient is wanted, it is the plain version's.
    """

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        target: Tensor,
        source: Tensor,
        factor: Tensor | None,
        pattern: AttentionPattern,
        saves: bool,
    ) -> Tensor:
        """Rows (n, heads * d) averaged over neighbours by attention."""
        assert native is not None
        saves = saves and any(ctx.needs_input_grad)
        heads, channels = target.shape[1], rows.shape[1] // target.shape[1]
        group, packed = packed_shape(len(rows), heads, channels)
        result, scratch = torch.empty_like(rows), rows.new_empty(len(rows), group)
        per_head = [torch.empty_like(target) for _ in range(3)] if saves else []
        rooms = [rows.new_empty(packed) for _ in range(3 if saves else 1)]
        addresses = [part.data_ptr() for part in per_head] or [0] * 3
        addresses += [part.data_ptr() for part in rooms] if saves else [rooms[0].data_ptr(), 0, 0]
        inputs = (part.data_ptr() for part in (rows, target, source))
        graph, threads = neighbours(pattern), torch.get_num_threads()
        native.attention_forward(
            graph,
            heads,
            channels,
            *inputs,
            address(factor),
            result.data_ptr(),
            *addresses,
            scratch.data_ptr(),
            threads,
        )
        ctx.pattern, ctx.factor = pattern, factor
        ctx.save_for_backward(rows, target, source, *per_head, *rooms)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of rows and of both attention scores."""
        assert native is not None
        grad = grad.contiguous().resolve_neg()
        inputs, saved = ctx.saved_tensors[:3], ctx.saved_tensors[1:]
        if torch.is_grad_enabled() or is_many_or_pushed_forward(grad):
            return *plain_gradients(grad, inputs, ctx.pattern, ctx.factor), None, None, None
        target, source = saved[:2]
        factor = None if ctx.factor is None else ctx.factor[ctx.pattern.transposed]
        heads, channels = target.shape[1], grad.shape[1] // target.shape[1]
        group, packed = packed_shape(len(grad), heads, channels)
        scratch = grad.new_empty(len(grad), packed[-1] + 4 * group)
        results = torch.empty_like(grad), torch.empty_like(target), torch.empty_like(source)
        arrays = (grad, target, source, factor, *saved[2:], *results, scratch)
        addresses = (address(part) for part in arrays)
        threads = torch.get_num_threads()
        native.attention_backward(neighbours(ctx.pattern), heads, channels, *addresses, threads)
        return *results, None, None, None


def address(part: Tensor | None) -> int:
    """Where the tensor lies in memory, 0 for none."""
    return 0 if part is None else part.data_ptr()


def plain_gradients(
    grad: Tensor,
    inputs: tuple[Tensor, ...],
    pattern: AttentionPattern,
    factor: Tensor | None,
) -> tuple[Tensor, ...]:
    """The gradients of rows and scores, with a graph of their own where one is wanted."""
    followed = torch.is_grad_enabled()
    with torch.enable_grad():
        leaves = [
            part if followed and part.requires_grad else part.detach().requires_grad_()
            for part in inputs
        ]
        out = attend_plainly(leaves[0], leaves[1], leaves[2], pattern, factor)
        return torch.autograd.grad(out, leaves, grad, create_graph=followed)


def packed_shape(nodes: int, heads: int, channels: int) -> tuple[int, tuple[int, int, int]]:
    """Heads per group, and (groups, n, width) of packed rows: see kernels/attention/problem.h."""
    group = 1 if heads == 1 else 8
    return group, (-(-heads // group), nodes, -(-channels * group // 16) * 16)


def neighbours(pattern: AttentionPattern) -> Any:
    """The pattern as the compiled loops take it."""
    assert native is not None
    start, column = pattern.start.data_ptr(), pattern.column.data_ptr()
    return native.SparseRows(len(pattern.start) - 1, start, column, 0, 0)
