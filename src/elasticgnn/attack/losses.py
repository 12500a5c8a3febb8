"""What a gradient attack raises, node by node: larger is worse for the victim."""

from collections.abc import Callable

import torch
from torch import Tensor

NodeLoss = Callable[[Tensor, Tensor], Tensor]


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """(k,) best wrong logit minus the right one: positive where the node is misclassified."""
    right = logits.gather(1, labels[:, None]).squeeze(1)
    wrong = logits.scatter(1, labels[:, None], -torch.inf).amax(1)
    return wrong - right


def tanh_margin(logits: Tensor, labels: Tensor) -> Tensor:
    """(k,) tanh of the margin of log-probabilities: spends nothing on nodes already lost."""
    return torch.tanh(margin(torch.log_softmax(logits, 1), labels))


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """(k,) plain cross-entropy."""
    return torch.nn.functional.cross_entropy(logits, labels, reduction="none")


def masked_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """(k,) cross-entropy where the node is still classified correctly, else 0."""
    correct = margin(logits.detach(), labels) < 0
    return correct * cross_entropy(logits, labels)


LOSSES: dict[str, NodeLoss] = {
    "tanh_margin": tanh_margin,
    "masked_cross_entropy": masked_cross_entropy,
    "cross_entropy": cross_entropy,
}


def find_loss(name: str) -> NodeLoss:
    """The loss called `name`."""
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {tuple(LOSSES)}, got {name!r}")
    return LOSSES[name]
