"""Several networks of the same settings as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.nn import ModelSettings
from elasticgnn.nn.build import construct
from elasticgnn.training.wrappers.hops import OnHops, hop_width, without_hops
from elasticgnn.training.wrappers.label_average import blank_average


class Ensemble(nn.Module):
    """The mean of what its members say: of class probabilities, or of numbers.

    Its outputs are logits as those of a member are: the log of the mean probability.

    >>> from elasticgnn.nn import MLP
    >>> from elasticgnn.training.wrappers.ensemble import Ensemble
    >>> both = Ensemble([MLP(16, 8, 2), MLP(16, 8, 2)]).eval()
    >>> both(task.features).exp().sum(1).allclose(torch.ones(60))
    True
    """

    def __init__(self, members: Sequence[nn.Module], *, of_numbers: bool = False) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.of_numbers = of_numbers
        self.prepare = getattr(members[0], "prepare", None)  # what all of them know of a graph

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Any = None,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Log of the mean probability of each class (n, classes), or the mean number (n, 1)."""
        outputs = torch.stack(
            [member(x, graph, edge_weight, noise=noise) for member in self.members]
        )
        if self.of_numbers:
            return outputs.mean(0)
        mean: Tensor = outputs.log_softmax(2).logsumexp(0) - torch.tensor(float(len(outputs))).log()
        return mean


def construct_members(
    settings: ModelSettings,
    num_features: int,
    num_outputs: int,
    members: int,
    *,
    of_numbers: bool,
    hops: int = 0,
    averages: bool = False,
) -> nn.Module:
    """The model of `settings`, or an ensemble of so many; weights from torch's global state."""
    if averages:
        inner = construct(settings, num_features, num_outputs + 1)
        return blank_average(inner, num_outputs, of_numbers=of_numbers)
    width = hop_width(num_features, hops) if hops else num_features
    built = [construct(settings, width, num_outputs) for _ in range(members)]
    model = built[0] if members == 1 else Ensemble(built, of_numbers=of_numbers)
    return OnHops(model, hops, torch.zeros(width), torch.ones(width)) if hops else model


def count_members(model: nn.Module) -> int:
    """How many networks a model is."""
    inner = without_hops(model)
    return len(inner.members) if isinstance(inner, Ensemble) else 1
