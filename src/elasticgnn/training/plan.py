"""How long and how strongly a model is trained."""

import math
from dataclasses import dataclass
from typing import Literal

Ties = Literal["loss", "first", "loss only"]
TIES: tuple[Ties, ...] = ("loss", "first", "loss only")
Loss = Literal["squared", "huber"]
LOSSES: tuple[Loss, ...] = ("squared", "huber")


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of Adam and of the epochs; weight decay is the L2 kind, on all parameters.

    patience: training stops after that many epochs without a better choice. ties: of the epochs
    with the highest validation accuracy the one with the lowest validation loss is selected, or
    the "first", as in the paper's studies; "loss only": the lowest validation loss decides alone,
    which is what probabilities want. max_seconds: no epoch is begun after them. loss: of numbers to
    predict, in deviations; balanced: every class weighs the same in the loss, however rare.

    >>> TrainingPlan(epochs=100, patience=20).learning_rate
    0.01
    >>> TrainingPlan(epochs=0)
    Traceback (most recent call last):
    ValueError: epochs must be >= 1, got 0
    """

    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    epochs: int = 500
    patience: int | None = None
    ties: Ties = "loss"
    max_seconds: float | None = None
    loss: Loss = "squared"
    balanced: bool = False

    def __post_init__(self) -> None:
        check_rate("learning_rate", self.learning_rate)
        check_rate("weight_decay", self.weight_decay)
        check_epochs(self.epochs, self.patience)
        if self.max_seconds is not None:
            check_rate("max_seconds", self.max_seconds)
        if self.ties not in TIES:
            raise ValueError(f"ties must be one of {TIES}, got {self.ties!r}")
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {LOSSES}, got {self.loss!r}")

    def is_over(self, seconds: float) -> bool:
        """Whether the training has had its time."""
        return self.max_seconds is not None and seconds >= self.max_seconds


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
