"""How long and how strongly a model is trained."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of Adam and of the epochs; weight decay is the L2 kind, on all parameters.

    patience: training stops after that many epochs without a better validation accuracy.
    """

    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int | None = None

    def __post_init__(self) -> None:
        check_rate("learning_rate", self.learning_rate)
        check_rate("weight_decay", self.weight_decay)
        check_epochs(self.epochs, self.patience)


def check_rate(name: str, value: float) -> None:
    """Refuses anything but a finite number >= 0."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a finite number >= 0, got {value}")


def check_epochs(epochs: int, patience: int | None) -> None:
    """Refuses less than one epoch, and a patience of less than one."""
    if epochs < 1:
        raise ValueError(f"epochs must be >= 1, got {epochs}")
    if patience is not None and patience < 1:
        raise ValueError(f"patience must be >= 1 or None, got {patience}")
