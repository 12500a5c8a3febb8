"""Momentum training of the linear surrogate on the labelled nodes, and its exact reverse.

The surrogate's logits are `S S X W1 W2` with S the normalised adjacency. Its training sees the
graph only through the labelled rows `M = (S S X)[train]`, and W1 moves only within M's row space:

    W1_t = W1_0 + M' a_t          M W1_t = B_0 + (M M') a_t,     B_0 = M W1_0

so the loop runs on the (labelled x labelled) matrix M M' and never touches features or graph.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class InnerTraining:
    """How the surrogate is trained: plain gradient descent with momentum on two matrices.

    The weights start uniform in +-weight_scale * sqrt(6 / (rows + columns)).

    >>> from elasticgnn.attack import InnerTraining
    >>> InnerTraining(steps=10).momentum
    0.9
    """

    steps: int = 100
    learning_rate: float = 0.1
    momentum: float = 0.9
    hidden_channels: int = 16
    weight_scale: float = 0.3

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be >= 1, got {self.steps}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0, got {self.learning_rate}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be in [0, 1), got {self.momentum}")
        if not self.weight_scale > 0:
            raise ValueError(f"weight_scale must be > 0, got {self.weight_scale}")
        if self.hidden_channels < 1:
            raise ValueError(f"hidden_channels must be >= 1, got {self.hidden_channels}")


@dataclass(frozen=True)
class Trajectory:
    """Everything the reverse pass needs; index t is the state before step t, index T the end."""

    hidden: Tensor  # (T + 1, labelled, h): M W1_t
    second: Tensor  # (T + 1, h, c): W2_t
    coordinate: Tensor  # (T + 1, labelled, h): a_t
    probability: Tensor  # (T, labelled, c)
    residual: Tensor  # (T, labelled, c): derivative of the mean cross-entropy in the logits


@dataclass(frozen=True)
class InnerAdjoint:
    """The loss's derivative in M through training: E = psi W1_0' + phi (U W2_T')' + core M."""

    psi: Tensor  # (labelled, h)
    phi: Tensor  # (labelled, h)
    core: Tensor  # (labelled, labelled)


def train(
    gram: Tensor, hidden: Tensor, second: Tensor, target: Tensor, plan: InnerTraining
) -> Trajectory:
    """The weights along `plan.steps` steps from B_0 = `hidden` and W2_0 = `second`.

    `target` (labelled, c) holds one-hot rows.
    """
    count, steps = len(target), plan.steps
    record = Trajectory(
        hidden.new_empty(steps + 1, *hidden.shape),
        second.new_empty(steps + 1, *second.shape),
        hidden.new_zeros(steps + 1, *hidden.shape),
        target.new_empty(steps, *target.shape),
        target.new_empty(steps, *target.shape),
    )
    record.hidden[0], record.second[0] = hidden, second
    drift, speed = torch.zeros_like(hidden), torch.zeros_like(second)
    for t in range(steps):
        b, w2 = record.hidden[t], record.second[t]
        probability = torch.softmax(b @ w2, dim=1, out=record.probability[t])
        residual = torch.sub(probability, target, out=record.residual[t]).div_(count)
        drift = plan.momentum * drift + residual @ w2.T
        speed = plan.momentum * speed + b.T @ residual
        torch.sub(
            record.coordinate[t], drift, alpha=plan.learning_rate, out=record.coordinate[t + 1]
        )
        torch.addmm(b, gram, drift, alpha=-plan.learning_rate, out=record.hidden[t + 1])
        torch.sub(w2, speed, alpha=plan.learning_rate, out=record.second[t + 1])
    return record


def reverse(
    gram: Tensor, record: Trajectory, push: Tensor, second_bar: Tensor, plan: InnerTraining
) -> InnerAdjoint:
    """The derivative in M of a loss of the trained weights.

    The loss's derivative in W1_T is `U W2_T'` and `push` = M U (labelled, c); its derivative in
    W2_T is `second_bar`. With (A1, A2) the adjoint of the velocities before step t, step t adds

        psi_t W1_t' + phi_t A1',   phi_t = R W2',   psi_t = Q W2' + R A2'

    where Q is the softmax Jacobian applied to the logits' change along (A1, A2). W1_t and A1 are
    known by their coordinates, A1 = reach U W2_T' + M' x_t, which is what `core` collects.
    """
    count, steps, lr = gram.shape[0], plan.steps, plan.learning_rate
    last = push @ record.second[-1].T
    psi = torch.empty_like(record.hidden[:-1])
    along = torch.empty_like(psi)
    weight_bar, reach = torch.zeros_like(last), 0.0
    x, a2 = torch.zeros_like(last), torch.zeros_like(second_bar)
    second_bar = second_bar.clone()
    reaches = []
    for t in reversed(range(steps)):
        b, w2 = record.hidden[t], record.second[t]
        p, r = record.probability[t], record.residual[t]
        reach = plan.momentum * reach - lr
        x = torch.sub(plan.momentum * x, weight_bar, alpha=lr, out=along[t])
        a2 = plan.momentum * a2 - lr * second_bar
        b_dot = torch.addmm(last, gram, x, beta=reach)
        bend = p * torch.addmm(b_dot @ w2, b, a2)
        q = torch.addcmul(bend, p, bend.sum(1, keepdim=True), value=-1).div_(count)
        torch.addmm(q @ w2.T, r, a2.T, out=psi[t])
        weight_bar += psi[t]
        second_bar += b.T @ q + b_dot.T @ r
        reaches.append(reach)
    return collect(record, psi, along, torch.tensor(reaches[::-1], dtype=gram.dtype))


def collect(record: Trajectory, psi: Tensor, along: Tensor, reach: Tensor) -> InnerAdjoint:
    """The three sums over steps; the (labelled, labelled) one is a single stacked product."""
    phi = record.residual @ record.second[:-1].mT
    left = torch.cat((psi, phi)).permute(1, 0, 2).flatten(1)
    right = torch.cat((record.coordinate[:-1], along)).permute(1, 0, 2).flatten(1)
    return InnerAdjoint(psi.sum(0), torch.einsum("t,tlh->lh", reach, phi), left @ right.T)
