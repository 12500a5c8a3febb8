"""A-Meta: the attack loss's direct derivative, summed over the training steps.

W1_t = W1_0 + M' a_t again keeps the rank small: with Q = X [W1_0, M'] the sum over steps of
G_t (X W1_t W2_t)' is [sum G_t W2_t', sum G_t (a_t W2_t)'] Q', h + labelled columns in all.
"""

import numpy as np
import torch
from torch import Tensor

from elasticgnn.attack.meta.gradient import PairGradient, Surrogate, View, assemble
from elasticgnn.attack.meta.inner import Trajectory, train


def approximate_gradient(
    view: View, surrogate: Surrogate, first: Tensor, second: Tensor
) -> PairGradient:
    """The first-order stand-in for `meta_gradient`, in the same form."""
    record = train(view.gram, view.seen @ first, second, surrogate.target, surrogate.plan)
    spanned = torch.cat((first, view.seen.T), dim=1).numpy()
    q = surrogate.features @ spanned
    far = torch.from_numpy(view.smooth @ (view.smooth @ q))
    p, value = direct_derivatives(surrogate, record, far)
    none = np.zeros(0, np.int64)
    lone = Surrogate(
        surrogate.features,
        surrogate.features_transposed,
        none,
        surrogate.target,
        surrogate.loss,
        surrogate.plan,
    )
    empty = np.zeros((len(q), 0), q.dtype)
    return assemble(view, lone, p.numpy(), q, empty, value)


def direct_derivatives(
    surrogate: Surrogate, record: Trajectory, far: Tensor
) -> tuple[Tensor, float]:
    """P with P Q' the sum over steps, and the loss after the last one; `far` is S S Q."""
    total = torch.zeros_like(far)
    value = 0.0
    for t in range(1, surrogate.plan.steps + 1):
        second = record.second[t]
        weights = torch.cat((second, record.coordinate[t] @ second))
        logits = far @ weights
        total.addmm_(surrogate.loss.derivative(logits), weights.T)
        value = surrogate.loss.value(logits)
    return total, value
