"""Known labels that arrive along edges, divided by how many arrive."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.loop.forward import forward_on

LOGIT_OF_ALL = 10.0  # of a class that all known nodes around have; calibration changes it
LEAST_SHARE = 1e-9  # of a class that no known node has


class LabelAverage(nn.Module):
    r"""Shares of the classes around a node, or the average number there, from known nodes alone.

    The last column of what `inner` propagates counts the known nodes that arrive, :math:`c`; the
    others are their classes or numbers, :math:`m`. With prior :math:`\pi` of weight
    :math:`\kappa` a number is :math:`(m + \kappa \pi) / (c + \kappa)`, and the logits of classes
    are :math:`(10 m + \kappa \log \pi) / (c + \kappa)`. Without the division, what arrives would
    shrink with the share of nodes that are known. Logits in the shares themselves calibrate
    better than their log, in which one class that no neighbour has outweighs all others.

    >>> from elasticgnn.nn import MLP
    >>> from elasticgnn.training.wrappers.label_average import LabelAverage
    >>> both = LabelAverage(MLP(16, 8, 3), torch.tensor([0.9, 0.1]), torch.tensor(1.0)).eval()
    >>> both(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    prior: Tensor
    weight: Tensor

    def __init__(
        self, inner: nn.Module, prior: Tensor, weight: Tensor, *, of_numbers: bool = False
    ) -> None:
        super().__init__()
        self.inner, self.of_numbers = inner, of_numbers
        self.register_buffer("prior", prior)
        self.register_buffer("weight", weight)

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits of the classes (n, classes), or numbers (n, 1)."""
        arrived = forward_on(self.inner, x, graph)(noise)
        sums, count = arrived[:, :-1], arrived[:, -1:].clamp(min=0)
        if self.of_numbers:
            return (sums + self.weight * self.prior) / (count + self.weight)
        logs = self.prior.clamp(min=LEAST_SHARE).log()
        return (LOGIT_OF_ALL * sums + self.weight * logs) / (count + self.weight)


def averages_labels(model: nn.Module) -> bool:
    """Whether the model's answers are such averages."""
    return isinstance(model, LabelAverage)


def blank_average(inner: nn.Module, num_outputs: int, *, of_numbers: bool) -> LabelAverage:
    """One without a prior, to be filled from a file."""
    return LabelAverage(inner, torch.zeros(num_outputs), torch.ones(()), of_numbers=of_numbers)
