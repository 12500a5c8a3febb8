"""What the dual step does to each row: projection onto a ball, or its unbiased relatives.

All are Z = Zb - beta prox_{rho/beta}(Zb/beta) for a penalty rho of the difference (Moreau).
"""

import torch
from torch import Tensor


def project_entries(dual: Tensor, radius: Tensor) -> Tensor:
    """Entries onto [-radius, radius] ("l1")."""
    return torch.maximum(torch.minimum(dual, radius), -radius)


def project_rows(dual: Tensor, radius: Tensor) -> Tensor:
    """Rows (last dimension) onto the ball of `radius` ("l21")."""
    length = torch.linalg.vector_norm(dual, dim=-1, keepdim=True)
    outside = length > radius
    return dual * torch.where(outside, radius / torch.where(outside, length, 1), 1)


def mcp_rows(dual: Tensor, radius: Tensor, beta: Tensor, concavity: float) -> Tensor:
    """Rows inside `radius` stay, longer ones shrink and vanish from beta * concavity * radius."""
    length = torch.linalg.vector_norm(dual, dim=-1, keepdim=True)
    slope = beta * concavity / (beta * concavity - 1)
    middle = length - slope * (length - radius)
    return _with_length(dual, length, radius, middle.clamp(min=0))


def scad_rows(dual: Tensor, radius: Tensor, beta: Tensor, concavity: float) -> Tensor:
    """Like "l21" up to (1 + beta) radius, then shrinking to zero at beta * concavity * radius."""
    length = torch.linalg.vector_norm(dual, dim=-1, keepdim=True)
    falling = length - ((concavity - 1) * length - concavity * radius) / (concavity - 1 - 1 / beta)
    beyond = torch.minimum(falling.clamp(min=0), radius)
    return _with_length(dual, length, radius, beyond)


def _with_length(dual: Tensor, length: Tensor, radius: Tensor, outside_length: Tensor) -> Tensor:
    """Rows inside `radius` as they are, the others with `outside_length`."""
    outside = length > radius
    return dual * torch.where(outside, outside_length / torch.where(outside, length, 1), 1)


def apply_projection(
    dual: Tensor, radius: Tensor, beta: Tensor, norm: str, concavity: float | None
) -> Tensor:
    """The dual step's map for `norm`; `radius` and `beta` broadcast against rows."""
    if norm == "l1":
        return project_entries(dual, radius)
    if norm == "l21":
        return project_rows(dual, radius)
    assert concavity is not None
    rows = mcp_rows if norm == "mcp" else scad_rows
    return rows(dual, radius, beta, concavity)
