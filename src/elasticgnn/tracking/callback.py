"""The protocol of callbacks: a run, a step of it, and what was measured there."""

from collections.abc import Mapping
from typing import Protocol


class Callback(Protocol):
    """Anything that can be called with a run's name, a step (from 0 on) and numbers by name.

    `fit` tells every epoch: loss, val_loss, val_accuracy, test_accuracy. `run_study` tells every
    training: val, test, seconds. `minimise` tells every check of its certificate: relative_gap.
    What a callback raises ends the work.

    >>> lines = []
    >>> note = lambda run, step, values: lines.append(f"{run} {step} {sorted(values)}")
    >>> _ = fit(model, task, split, TrainingPlan(epochs=2), generator, callback=note)
    >>> lines[-1]
    "fit 1 ['loss', 'test_accuracy', 'val_accuracy', 'val_loss']"
    """

    def __call__(self, run: str, step: int, values: Mapping[str, float]) -> None:
        """Takes the numbers measured at a step of a run."""


def together(*callbacks: Callback) -> Callback:
    """One callback that hands everything to each of `callbacks`, in order.

    >>> from elasticgnn.tracking import together
    >>> both = together(lambda *got: print("a", got), lambda *got: print("b", got))
    >>> both("fit", 0, {"loss": 0.5})
    a ('fit', 0, {'loss': 0.5})
    b ('fit', 0, {'loss': 0.5})
    """

    def call_all(run: str, step: int, values: Mapping[str, float]) -> None:
        for callback in callbacks:
            callback(run, step, values)

    return call_all
