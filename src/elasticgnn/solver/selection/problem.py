"""What a choice of strengths is asked of, and the scores that answer it."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.solver.losses import Squared, as_loss
from elasticgnn.solver.paths.path import Path, minimise_path
from elasticgnn.solver.problem.extras import Extras

OUTLYING = 6.0  # sigmas: a larger error at a held-out node says where a jump is, not how much noise


@dataclass(frozen=True)
class Scores:
    """Per lambda1."""

    mean: Tensor
    error: Tensor
    certified: bool
    path: Path | None = None  # of all the data


@dataclass(frozen=True)
class SelectionProblem:
    """Which of lambda1s suits this signal, for one lambda2 at a time."""

    x: Tensor
    graph: Graph
    lambda1s: tuple[float, ...]
    norm: str
    data_weight: Tensor
    order: int = 0
    sigma: float = 0.0
    boundary: str = "graph"
    extras: Extras = field(default_factory=Extras)
    unit: float = 1.0  # of the data: squared errors in it do not leave the range of float64

    def path(self, lambda2: float, data_weight: Tensor, rtol: float) -> Path:
        """The solutions for all lambda1s with other weights of the data."""
        return minimise_path(
            self.x,
            self.graph,
            self.lambda1s,
            lambda2=lambda2,
            norm=self.norm,
            data_weight=data_weight,
            order=self.order,
            boundary=self.boundary,
            rtol=rtol,
            extras=self.extras,
        )

    def errors(self, fitted: Tensor, held: Tensor) -> Tensor:
        """What each held-out value costs: squares up to a cap, or the loss."""
        loss = as_loss(self.extras.loss)
        if not isinstance(loss, Squared):
            return torch.from_numpy(loss.value(fitted.numpy(), held.numpy()))
        cap = (OUTLYING * (self.sigma / self.unit)) ** 2 if self.sigma > 0 else torch.inf
        return (fitted / self.unit - held / self.unit).square().clamp(max=cap)
