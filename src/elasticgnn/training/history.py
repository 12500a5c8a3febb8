"""What a training run leaves behind: its curves, and the epoch they select."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class History:
    """Curves over the epochs, one value each, and the selected epoch (counted from 0).

    loss is the training loss with dropout, before the epoch's step; the others are measured
    after it, without dropout. Accuracies are shares in 0..1 (nan where a part has no nodes).
    weights are the model's at the selected epoch, where they were asked for.
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

    @property
    def val_accuracy(self) -> float:
        """Validation accuracy at the selected epoch."""
        return self.val_curve[self.selected_epoch]

    @property
    def test_accuracy(self) -> float:
        """Test accuracy at the selected epoch."""
        return self.test_curve[self.selected_epoch]
