"""Losses and accuracies of many runs, each on its own nodes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from elasticgnn.kernels import native


class Scores:
    """What outputs (n, runs, classes) are worth on each run's list of nodes."""

    def __init__(self, nodes: Sequence[Tensor], labels: Tensor) -> None:
        self.labels = labels
        self.nodes = torch.cat(list(nodes))
        self.start = torch.tensor([0, *(len(part) for part in nodes)]).cumsum(0)
        self.loss = torch.zeros(len(nodes), dtype=torch.float64)
        self.accuracy = torch.zeros(len(nodes), dtype=torch.float64)

    def measure(
        self, output: Tensor, grad: Tensor | None = None, *, with_loss: bool = True
    ) -> None:
        """Fills `accuracy`, `loss` (mean cross entropy) and its gradient, these two if wanted."""
        assert native is not None
        if grad is not None:
            grad.zero_()
        native.score(
            output.shape[1],
            output.shape[2],
            output.data_ptr(),
            self.labels.data_ptr(),
            self.start.data_ptr(),
            self.nodes.data_ptr(),
            0 if grad is None else grad.data_ptr(),
            self.loss.data_ptr() if with_loss else 0,
            self.accuracy.data_ptr(),
            torch.get_num_threads(),
        )
