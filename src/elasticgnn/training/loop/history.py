"""What a training run leaves behind: its curves, and the epoch they select."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True, eq=False)
class History:
    """Curves over the epochs, one value each, and the selected epoch (counted from 0).

    loss is the training loss with dropout, before the epoch's step; the others are measured
    after it, without dropout. Accuracies are shares in 0..1 (nan where a part has no nodes).
    weights are the model's at the selected epoch, where they were asked for.

    >>> history.epochs, len(history.val_curve), 0 <= history.test_accuracy <= 1
    (20, 20, True)
    """

    loss: tuple[float, ...]
    val_loss: tuple[float, ...]
    val_curve: tuple[float, ...]
    test_curve: tuple[float, ...]
    selected_epoch: int
    seconds: float
    weights: dict[str, Tensor] | None = None

    @property
    def epochs(self) -> int:
        """Epochs that were run."""
        return len(self.loss)

    def curves(self, points: int = 100) -> dict[str, Any]:
        """Losses and accuracies as plain lists of at most `points` values, and their stride."""
        stride = max(1, -(-self.epochs // points))
        lines = {
            "loss": self.loss,
            "val_loss": self.val_loss,
            "val": self.val_curve,
            "test": self.test_curve,
        }
        plain = {name: [round(v, 4) for v in line[::stride]] for name, line in lines.items()}
        known = {name: line for name, line in plain.items() if not all(map(math.isnan, line))}
        return {"stride": stride, "selected": self.selected_epoch, **known}

    @property
    def val_accuracy(self) -> float:
        """Validation accuracy at the selected epoch."""
        return self.val_curve[self.selected_epoch]

    @property
    def test_accuracy(self) -> float:
        """Test accuracy at the selected epoch."""
        return self.test_curve[self.selected_epoch]
