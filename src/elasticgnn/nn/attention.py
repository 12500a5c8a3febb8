"""Attention of nodes to their neighbours: by compiled loops where they fit, or plain torch."""

from torch import Tensor

from elasticgnn.nn.fused_attention import attend_fused, fits_kernel
from elasticgnn.nn.plain_attention import AttentionPattern as AttentionPattern
from elasticgnn.nn.plain_attention import attend_plainly as attend_plainly


def attend(
    rows: Tensor,
    target: Tensor,
    source: Tensor,
    pattern: AttentionPattern,
    factor: Tensor | None = None,
) -> Tensor:
    """(n, h c): per head, node i's sum over j of softmax_j(leaky(target_i + source_j)) rows_j.

    From rows (n, h c) and scores (n, h); differentiable in all three. factor (slots, h) multiplies
    the coefficients after the softmax: 0 where dropout takes one away.
    """
    nodes, heads = len(pattern.start) - 1, target.shape[-1]
    if rows.ndim != 2 or len(rows) != nodes or not heads or rows.shape[1] % heads:
        raise ValueError(f"rows must be ({nodes}, {heads} c), got {tuple(rows.shape)}")
    if target.shape != (nodes, heads) or source.shape != target.shape:
        shapes = f"{tuple(target.shape)} and {tuple(source.shape)}"
        raise ValueError(f"target and source must be ({nodes}, heads), got {shapes}")
    if factor is not None and factor.shape != (len(pattern.column), heads):
        shapes = f"({len(pattern.column)}, {heads}), got {tuple(factor.shape)}"
        raise ValueError(f"factor must be (slots, heads) = {shapes}")
    watched = factor is not None and factor.requires_grad  # the loops give no gradient for it
    parts = (rows, target, source) if factor is None else (rows, target, source, factor)
    if not watched and fits_kernel(*parts):
        return attend_fused(rows, target, source, pattern, factor)
    return attend_plainly(rows, target, source, pattern, factor)
