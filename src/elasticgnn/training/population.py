"""Training of many ElasticGNN runs side by side on one graph."""

from collections.abc import Callable, Sequence

from elasticgnn.data import NodeTask
from elasticgnn.training.history import History
from elasticgnn.training.run import Run


def fit_population(
    task: NodeTask,
    runs: Sequence[Run],
    *,
    steps: int = 10,
    norm: str = "l21",
    concavity: float | None = None,
    hidden_channels: int = 64,
    epochs: int = 500,
    patience: int | None = None,
    keep_weights: bool = False,
    progress: Callable[[int, float], None] | None = None,
) -> list[History]:
    """One History per run, in order; each equals, to rounding, what the run gives alone.

    progress is called with the run-epochs finished since its last call and the mean best
    validation accuracy so far. keep_weights fills `History.weights` (an ElasticGNN state dict).
    """
    raise NotImplementedError
