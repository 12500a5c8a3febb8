"""EMP as TorchScript compiles it: plain torch with its types, for an edge_index."""

import torch
from torch import Tensor, nn


class ScriptableEMP(nn.Module):
    """The steps of an EMP with fixed strengths on an edge_index (2, E); what jit.script gets.

    Every column is an edge of half its weight, as in nn/traced.py, which says why that is right.
    """

    def __init__(self, steps: int, sizes: tuple[float, float, float, float], form: str) -> None:
        super().__init__()
        self.steps = steps
        self.lambda1, self.gamma, self.beta, self.smoothing = sizes
        self.by_rows = form == "ball"

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        """x (..., n, d) smoothed."""
        rows = x if x.dtype == torch.float64 else x.to(torch.float32)
        tail, head, weight, scale = incidence(rows, edge_index, edge_weight)
        signal = rows
        dual = torch.zeros_like(rows.index_select(-2, tail))
        for _ in range(self.steps):
            smooth = divergence(difference(signal, tail, head, scale), tail, head, weight, scale)
            y = self.gamma * rows + (1 - self.gamma) * signal - self.smoothing * smooth
            predicted = y - self.gamma * divergence(dual, tail, head, weight, scale)
            dual = self.project(dual + self.beta * difference(predicted, tail, head, scale))
            signal = y - self.gamma * divergence(dual, tail, head, weight, scale)
        return signal.to(x.dtype)

    def project(self, dual: Tensor) -> Tensor:
        """Rows onto the ball of radius lambda1, or entries onto [-lambda1, lambda1]."""
        if self.lambda1 == 0:
            return torch.zeros_like(dual)
        if not self.by_rows:
            return dual.clamp(-self.lambda1, self.lambda1)
        active = dual.detach().square().sum(-1, keepdim=True).sqrt() > self.lambda1
        length = torch.where(active, dual, torch.ones_like(dual)).square().sum(-1, True).sqrt()
        return dual * torch.where(active, self.lambda1 / length, torch.ones_like(length))


def incidence(
    x: Tensor, edge_index: Tensor, edge_weight: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tails, heads, halved weights (E,) and scales (n,); single directions are refused."""
    source, target = edge_index[0].to(torch.int64), edge_index[1].to(torch.int64)
    n = x.shape[-2]
    if edge_weight is None:
        weight = torch.ones(source.shape[0], dtype=x.dtype, device=x.device)
    else:
        weight = edge_weight.to(x.dtype)
    weight = torch.where(source == target, torch.zeros_like(weight), weight)
    along, against = source * n + target, target * n + source
    keys = torch.unique(torch.cat([along, against]))
    sums = torch.zeros(2, keys.shape[0], dtype=x.dtype, device=x.device)
    sums = sums.index_add(1, torch.searchsorted(keys, along), torch.stack([weight, 0 * weight]))
    sums = sums.index_add(1, torch.searchsorted(keys, against), torch.stack([0 * weight, weight]))
    if not torch.allclose(sums[0], sums[1], rtol=1e-5):
        raise ValueError("edge_index must hold both directions with equal weights")
    half = weight / 2
    degree = torch.ones(n, dtype=torch.float64, device=x.device)  # of a hub a sum of many
    degree = degree.index_add(0, source, half.double()).index_add(0, target, half.double())
    scale = degree.rsqrt().to(x.dtype)
    return torch.minimum(source, target), torch.maximum(source, target), half, scale


def difference(rows: Tensor, tail: Tensor, head: Tensor, scale: Tensor) -> Tensor:
    """delta_e = U_tail - U_head with U = scale * rows: (..., n, d) to (..., E, d)."""
    scaled = scale[:, None] * rows
    return scaled.index_select(-2, tail) - scaled.index_select(-2, head)


def divergence(dual: Tensor, tail: Tensor, head: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """s_i * sum over i's edges of ±w_e dual_e: (..., E, d) to (..., n, d)."""
    flow = weight[:, None] * dual
    shape = list(dual.shape)
    shape[-2] = scale.shape[0]
    total = torch.zeros(shape, dtype=dual.dtype, device=dual.device)
    total = total.index_add(-2, tail, flow).index_add(-2, head, -flow)
    return scale[:, None] * total
