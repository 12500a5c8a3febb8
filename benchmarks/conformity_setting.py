"""One layer on one small graph, and the table of questions that are asked of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Setting:
    """One layer on one small graph, in float64 unless a question says otherwise."""

    make: Callable[[], nn.Module]
    x: Tensor
    index: Tensor
    weight: Tensor

    @property
    def layer(self) -> nn.Module:
        return self.make()

    @property
    def run(self) -> Callable[[Tensor], Tensor]:
        """The layer on this graph, a function of the signal alone; make_fx traces no method."""
        return lambda x: self.layer(x, self.index)

    @property
    def expected(self) -> Tensor:
        return self.layer(self.x, self.index)

    def close(self, found: Any, expected: Tensor | None = None, tolerance: float = 1e-6) -> bool:
        target = self.expected if expected is None else expected
        found = found.to_dense() if found.layout != torch.strided else found
        return found.shape == target.shape and torch.allclose(
            found.double(), target.double(), rtol=tolerance, atol=tolerance
        )


def setting(make: Callable[[], nn.Module]) -> Setting:
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(0, 12, (2, 30), generator=generator)
    pairs = torch.unique(pairs.sort(0).values, dim=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    index = torch.cat([pairs, pairs.flip(0)], 1)
    weight = (0.5 + torch.rand(pairs.shape[1], generator=generator, dtype=torch.float64)).repeat(2)
    x = torch.randn(12, 3, generator=generator, dtype=torch.float64)
    return Setting(make, x, index, weight)


QUESTIONS: dict[str, Callable[[Setting], bool]] = {}


def question(name: str) -> Callable[[Callable[[Setting], bool]], Callable[[Setting], bool]]:
    def register(ask: Callable[[Setting], bool]) -> Callable[[Setting], bool]:
        QUESTIONS[name] = ask
        return ask

    return register


def adjacency(s: Setting, layout: torch.layout, weight: Tensor | None = None) -> Tensor:
    values = torch.ones(s.index.shape[1], dtype=torch.float64) if weight is None else weight
    matrix = torch.sparse_coo_tensor(s.index.flip(0), values, (12, 12)).coalesce()
    return matrix if layout == torch.sparse_coo else matrix.to_sparse(layout=layout)
