"""Metattack written the plain way: a dense adjacency and autograd through every training step."""

import torch
from torch import Tensor


def dense_logits(adjacency: Tensor, x: Tensor, w1: Tensor, w2: Tensor) -> Tensor:
    loops = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype)
    scale = loops.sum(1).rsqrt()
    smooth = scale[:, None] * loops * scale
    return smooth @ (smooth @ (x @ w1)) @ w2


def dense_meta_gradient(adjacency, x, labelled, target, loss, plan, first, second):
    """(n, n) derivative per unordered pair, and the loss; `loss` is a function of the logits."""
    pair = torch.zeros_like(adjacency, requires_grad=True)
    change = torch.triu(pair, 1)
    modified = adjacency + change + change.T
    w1, w2 = first.clone().requires_grad_(), second.clone().requires_grad_()
    v1, v2 = torch.zeros_like(w1), torch.zeros_like(w2)
    for _ in range(plan.steps):
        rows = dense_logits(modified, x, w1, w2)[labelled]
        inner = -(torch.log_softmax(rows, 1) * target).sum(1).mean()
        g1, g2 = torch.autograd.grad(inner, (w1, w2), create_graph=True)
        v1, v2 = plan.momentum * v1 + g1, plan.momentum * v2 + g2
        w1, w2 = w1 - plan.learning_rate * v1, w2 - plan.learning_rate * v2
    value = loss(dense_logits(modified, x, w1, w2))
    (gradient,) = torch.autograd.grad(value, pair)
    return gradient + gradient.T, float(value.detach())


def dense_approximate_gradient(adjacency, x, labelled, target, loss, plan, first, second):
    """The same with weights held fixed: direct derivatives of the loss summed over the steps."""
    pair = torch.zeros_like(adjacency, requires_grad=True)
    change = torch.triu(pair, 1)
    modified = adjacency + change + change.T
    w1, w2 = first.clone(), second.clone()
    v1, v2 = torch.zeros_like(w1), torch.zeros_like(w2)
    total, value = torch.zeros_like(adjacency), 0.0
    for _ in range(plan.steps):
        w1, w2 = w1.requires_grad_(), w2.requires_grad_()
        rows = dense_logits(adjacency, x, w1, w2)[labelled]
        inner = -(torch.log_softmax(rows, 1) * target).sum(1).mean()
        g1, g2 = torch.autograd.grad(inner, (w1, w2))
        v1, v2 = plan.momentum * v1 + g1, plan.momentum * v2 + g2
        w1 = (w1 - plan.learning_rate * v1).detach()
        w2 = (w2 - plan.learning_rate * v2).detach()
        now = loss(dense_logits(modified, x, w1, w2))
        total += torch.autograd.grad(now, pair, retain_graph=True)[0]
        value = float(now.detach())
    return total + total.T, value
