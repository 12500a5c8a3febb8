"""The steps in plain torch with few operations: what a device runs where no kernel serves it.

operator/reference.py is the definition. Here, as in kernels/emp/problem.h, the state is U = s F,
Z, and Q_i = sum of +-w Z over i's edges. On a device every operation is a launch, and rows of
edges are what fills its memory: the gradient finds the dual rows before their projections and U,
and what else it needs it computes again. operator/plain_adjoint.py is the way back.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from elasticgnn.operator.plain_own import OwnProjection
from elasticgnn.operator.plain_projection import DualMap, make_projection
from elasticgnn.operator.second_order import Inputs, Settings


class Tape(NamedTuple):
    """What the gradient needs of every step; rows of nodes only if all gradients are wanted."""

    ascended: Tensor  # (K, m, R, d): the dual before its projection
    signal: Tensor  # (K, n, R, d): U before the step

    @property
    def is_of_all(self) -> bool:
        """Whether it serves all gradients, not that of x alone."""
        return self.signal.ndim == 4


class PlainSteps(NamedTuple):
    """What does not change from step to step, shaped to multiply rows (., R, d)."""

    tail: Tensor  # (m,)
    head: Tensor
    ends: tuple[Tensor, Tensor]  # (2m,): both directions of every edge, from and to
    weight: Tensor  # (m, 1, 1)
    scale: Tensor  # (n, 1, 1)
    project: DualMap
    beta: Tensor  # (R, 1), as the next two
    gamma: Tensor
    smoothing: Tensor
    own: Tensor  # (n, R, 1): 1 - gamma - smoothing s^2 (sum of the weights), of U
    near: Tensor  # (2m, R, 1): smoothing s^2 w, of a neighbour's U; s is that of the receiver
    far: Tensor  # (2m, R, 1): the same with the sender's
    back: Tensor  # (n, R, 1): -gamma s^2, of Q
    steps: int

    def difference(self, nodes: Tensor) -> Tensor:
        """Row of the tail minus row of the head: (n, R, d) to (m, R, d)."""
        return nodes.index_select(0, self.tail).sub_(nodes.index_select(0, self.head))

    def divergence(self, edges: Tensor, total: Tensor) -> Tensor:
        """The adjoint: (m, R, d) to (n, R, d), added to `total` in place."""
        return total.index_add_(0, self.tail, edges).index_add_(0, self.head, edges, alpha=-1)

    def spread(self, nodes: Tensor, factor: Tensor, total: Tensor) -> Tensor:
        """`total` with factor times each neighbour's row added to every node, in place."""
        rows = nodes.index_select(0, self.ends[1]).mul_(factor)
        return total.index_add_(0, self.ends[0], rows)

    def run(self, x: Tensor, tape: Tape | None = None) -> Tensor:
        """F (n, R, d) after the steps; writes what the gradient needs on the tape."""
        rows, signals = _places(tape, self.steps)
        signal = torch.mul(self.scale, x, out=signals[0])
        given = self.gamma * signal
        dual, total = x.new_zeros(len(self.tail), *x.shape[1:]), torch.zeros_like(x)
        for k in range(self.steps):
            y = self.spread(signal, self.near, torch.addcmul(given, self.own, signal))
            change = self.difference(torch.addcmul(y, self.back, total))
            dual = self.project(torch.addcmul(dual, self.beta, change, out=rows[k]))
            total = self.divergence(self.weight * dual, torch.zeros_like(x))
            signal = torch.addcmul(y, self.back, total, out=signals[k + 1])
        return signal / self.scale

    def make_tape(self, x: Tensor, everything: bool) -> Tape:
        """Room for what the gradient needs."""
        nodes = x.shape if everything else (0,)
        return Tape(
            x.new_empty(self.steps, len(self.tail), *x.shape[1:]),
            x.new_empty(self.steps, *nodes),
        )


def _places(tape: Tape | None, steps: int) -> list[tuple[Tensor | None, ...]]:
    """Where each step writes: rows of the tape, or None for memory of its own."""
    none = (None,) * (steps + 1)
    if tape is None:
        return [none] * 2
    return [(*table.unbind(), None) if table.ndim == 4 else none for table in tape]


def plain_steps(inputs: Inputs, settings: Settings) -> PlainSteps:
    """The tables of a call."""
    tail, head = settings.tail, settings.head
    weight, scale = inputs.weight[:, None, None], inputs.scale[:, None, None]
    lambda1, gamma, beta, smoothing = (size[..., None] for size in inputs[3:])
    ends = (torch.cat([tail, head]), torch.cat([head, tail]))
    both, square = torch.cat([weight, weight]), scale * scale
    scaled_smoothing = smoothing * square
    total = torch.zeros_like(scale).index_add_(0, ends[0], both)
    is_own = settings.edge_penalty.form is None
    make: Callable[..., DualMap] = OwnProjection if is_own else make_projection
    return PlainSteps(
        tail=tail,
        head=head,
        ends=ends,
        weight=weight,
        scale=scale,
        project=make(settings.edge_penalty, lambda1, beta),
        beta=beta,
        gamma=gamma,
        smoothing=smoothing,
        own=1 - gamma - scaled_smoothing * total,
        near=scaled_smoothing.index_select(0, ends[0]) * both,
        far=scaled_smoothing.index_select(0, ends[1]) * both,
        back=-gamma * square,
        steps=settings.steps,
    )
