"""The growing curves of one run, and the rule that selects its epoch."""

import math
from typing import NamedTuple

from torch import Tensor

from elasticgnn.training.loop.history import History
from elasticgnn.training.plan import Ties


class EpochResult(NamedTuple):
    """Measured in one epoch: training loss, then loss and accuracies without dropout."""

    loss: float
    val_loss: float
    val_accuracy: float
    test_accuracy: float


class Record:
    """Collects epochs; one of those with the highest validation accuracy is selected.

    ties: the one with the lowest validation loss, or the first; "loss only": the epoch with the
    lowest validation loss of all. Without validation nodes the last epoch is selected.
    """

    def __init__(self, patience: int | None, ties: Ties = "loss") -> None:
        self.patience, self.ties = patience, ties
        self.epochs: list[EpochResult] = []
        self.selected = 0

    def add(self, result: EpochResult) -> bool:
        """Whether this epoch is the new choice."""
        self.epochs.append(result)
        if len(self.epochs) > 1 and not self.is_better(result, self.epochs[self.selected]):
            return False
        self.selected = len(self.epochs) - 1
        return True

    def is_better(self, result: EpochResult, best: EpochResult) -> bool:
        """Whether an epoch is to be preferred to the best so far."""
        if self.ties == "loss only" and not math.isnan(best.val_loss):
            return result.val_loss < best.val_loss
        if math.isnan(best.val_accuracy) or result.val_accuracy > best.val_accuracy:
            return True
        equal = result.val_accuracy == best.val_accuracy
        return self.ties == "loss" and equal and result.val_loss < best.val_loss

    @property
    def is_finished(self) -> bool:
        """Whether `patience` epochs have passed since the choice."""
        waited = len(self.epochs) - 1 - self.selected
        return self.patience is not None and waited >= self.patience

    def history(self, seconds: float, weights: dict[str, Tensor] | None = None) -> History:
        """The curves and the selected epoch."""
        loss, val_loss, val_curve, test_curve = zip(*self.epochs, strict=True)
        return History(loss, val_loss, val_curve, test_curve, self.selected, seconds, weights)
