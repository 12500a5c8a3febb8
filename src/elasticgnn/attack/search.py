"""What all gradient attacks share: their options, their victim, and one question to it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from elasticgnn.attack.constraints import Constraints
from elasticgnn.attack.losses import find_loss
from elasticgnn.attack.relaxed import random_keys
from elasticgnn.attack.victim import Retraining, Victim, loss_and_gradient
from elasticgnn.graph import Graph

Progress = Callable[[int, float], None]


@dataclass(frozen=True)
class GradientSettings:
    """Options of PGD, PRBCD and GRBCD.

    block_size: pairs relaxed together. epochs: gradient steps, the block being renewed after each
    of the first `fresh_epochs`. samples: discrete graphs drawn at the end, the best is kept.
    restarts: searches from other random pairs, of which the one that hurts most is kept.
    poisoning: the victim is trained on while it is attacked. around_targets: only pairs with an
    attacked node at one end.

    >>> from elasticgnn.attack import GradientSettings
    >>> GradientSettings(block_size=100, epochs=5, fresh_epochs=4).loss
    'tanh_margin'
    """

    loss: str = "tanh_margin"
    block_size: int = 50_000
    epochs: int = 125
    fresh_epochs: int = 100
    learning_rate: float = 1000.0
    samples: int = 20
    restarts: int = 1
    constraints: Constraints = field(default_factory=Constraints)
    poisoning: Retraining | None = None
    around_targets: bool = False

    def __post_init__(self) -> None:
        find_loss(self.loss)
        for name in ("block_size", "epochs", "samples", "restarts"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be >= 1, got {getattr(self, name)}")
        if not 0 <= self.fresh_epochs <= self.epochs:
            raise ValueError(f"fresh_epochs must be in 0..epochs, got {self.fresh_epochs}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be > 0, got {self.learning_rate}")


@dataclass(frozen=True)
class Flips:
    """Flipped pairs (k, 2), surest first, and the loss along the way."""

    pairs: Tensor
    loss: tuple[float, ...]


@dataclass(frozen=True)
class Search:
    """One attack on one victim; `retrain` lets the victim learn on each graph it is shown."""

    victim: Victim
    flips: int
    settings: GradientSettings
    generator: torch.Generator
    retrain: Callable[[Graph], None] | None = None
    progress: Progress = lambda epoch, loss: None

    def draw(self, count: int) -> Tensor:
        """Fresh random pairs, as keys."""
        ends = self.victim.nodes if self.settings.around_targets else None
        return random_keys(self.victim.task.num_nodes, count, self.generator, ends)

    def ask(self, epoch: int, graph: Graph, leaf: Tensor) -> tuple[float, Tensor]:
        """The loss on `graph` and its derivative in the `leaf` behind the graph's weights."""
        if self.retrain is not None:
            self.retrain(graph)
        loss, gradient = loss_and_gradient(self.victim, graph, leaf)
        self.progress(epoch, loss)
        return loss, gradient
