"""Derivatives of the compiled gradients: the plain version, differentiated twice.

A compiled adjoint is the gradient as a function of (cotangent, inputs) that torch cannot look
into. Where a graph of it is wanted, its own derivative is that of the plain version's gradient.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.operator.reference import Incidence, iterate
from elasticgnn.problem.penalties.base import EdgePenalty


class Inputs(NamedTuple):
    """What the signal after the steps is differentiable in."""

    x: Tensor  # (n, R, d)
    weight: Tensor  # (m,)
    scale: Tensor  # (n,)
    lambda1: Tensor  # (R,) as the three below, or (m, R) where each edge has its own
    gamma: Tensor
    beta: Tensor
    smoothing: Tensor


class Settings(NamedTuple):
    """What it is not differentiable in."""

    tail: Tensor
    head: Tensor
    edge_penalty: EdgePenalty
    steps: int


def differentiate_gradients(
    grad: Tensor,
    inputs: Inputs,
    settings: Settings,
    cotangents: tuple[Tensor | None, ...],
    needed: tuple[bool, ...],
) -> tuple[Tensor | None, ...]:
    """Cotangents of (grad, *inputs) from those of the gradients of <grad, out> in each input.

    `cotangents` has one entry for each input and `needed` one for grad and each input.
    """
    targets = [k for k, cotangent in enumerate(cotangents) if cotangent is not None]
    sources = [k for k, need in enumerate(needed) if need]
    out: list[Tensor | None] = [None] * len(needed)
    if not targets or not sources:
        return tuple(out)
    everything = (grad, *inputs)

    def gradients(*moving: Tensor) -> tuple[Tensor, ...]:
        full = _replaced(everything, sources, moving)
        return plain_gradients(full[0], Inputs(*full[1:]), settings, targets)

    pull_back = torch.func.vjp(gradients, *(everything[k] for k in sources))[1]
    second = pull_back(tuple(cotangents[k] for k in targets))
    for k, part in zip(sources, second, strict=True):
        out[k] = part
    return tuple(out)


def plain_gradients(
    grad: Tensor, inputs: Inputs, settings: Settings, targets: list[int]
) -> tuple[Tensor, ...]:
    """The gradients of <grad, out> in the inputs numbered `targets`; differentiable in all."""
    tail, head, edge_penalty, steps = settings

    def signal(*moving: Tensor) -> Tensor:
        x, weight, scale, *sizes = _replaced(inputs, targets, moving)
        incidence = Incidence(tail, head, weight, scale)
        return iterate(x, incidence, tuple(sizes), edge_penalty, steps)[0]

    pull_back = torch.func.vjp(signal, *(inputs[k] for k in targets))[1]
    gradients: tuple[Tensor, ...] = pull_back(grad)
    return gradients


def _replaced(
    values: tuple[Tensor, ...], places: list[int], others: tuple[Tensor, ...]
) -> list[Tensor]:
    changed = list(values)
    for place, other in zip(places, others, strict=True):
        changed[place] = other
    return changed


def edge_ends(start: Tensor, column: Tensor) -> tuple[Tensor, Tensor]:
    """Tail and head (m,) of every edge, from the slots of `graph._slots`.

    Slots ascend within a node, so those that lead upwards come in the order of the edges.
    """
    nodes = torch.arange(len(start) - 1, device=start.device)
    row = torch.repeat_interleave(nodes, start.diff())
    upward = column > row
    return row[upward], column[upward].long()
