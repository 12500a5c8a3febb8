"""The growing curves of one run, and the rule that selects its epoch."""

import math
from typing import NamedTuple

from torch import Tensor

from elasticgnn.training.history import History


class EpochResult(NamedTuple):
    """Measured in one epoch: training loss, then loss and accuracies without dropout."""

    loss: float
    val_loss: float
    val_accuracy: float
    test_accuracy: float


class Record:
    """Collects epochs; the first epoch of the highest validation accuracy is selected.

    Without validation nodes the last epoch is.
    """

    def __init__(self, patience: int | None) -> None:
        self.patience = patience
        self.epochs: list[EpochResult] = []
        self.selected = 0

    def add(self, result: EpochResult) -> bool:
        """Whether this epoch is the new choice."""
        self.epochs.append(result)
        best = self.epochs[self.selected].val_accuracy
        if len(self.epochs) > 1 and not math.isnan(best) and result.val_accuracy <= best:
            return False
        self.selected = len(self.epochs) - 1
        return True

    @property
    def is_finished(self) -> bool:
        """Whether `patience` epochs have passed since the choice."""
        waited = len(self.epochs) - 1 - self.selected
        return self.patience is not None and waited >= self.patience

    def history(self, seconds: float, weights: dict[str, Tensor] | None = None) -> History:
        loss, val_loss, val_curve, test_curve = zip(*self.epochs, strict=True)
        return History(loss, val_loss, val_curve, test_curve, self.selected, seconds, weights)
