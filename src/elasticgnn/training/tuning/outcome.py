"""What a candidate has shown on the folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.training.tuning.candidates import Candidate


@dataclass(frozen=True, eq=False)
class Outcome:
    """A candidate's metric on each fold, and its outputs for the nodes it did not train on.

    epochs: to train for, as the folds selected; is_cut: that a training was ended by its time;
    curves: of the training on each fold, thinned (`History.curves`); seconds: of all folds;
    members: networks that differ in seed and whose mean is meant.
    """

    candidate: Candidate
    scores: tuple[float, ...]
    nodes: NDArray[np.int64]
    probability: NDArray[np.float64]
    epochs: int
    is_cut: bool = False
    curves: tuple[dict[str, Any], ...] = ()
    seconds: float = 0.0
    members: int = 1

    @property
    def mean(self) -> float:
        """Mean score over the folds, -1 if none could be measured."""
        return float(np.nanmean(self.scores)) if not all(map(math.isnan, self.scores)) else -1.0


def joined(parts: Sequence[Outcome]) -> Outcome:
    """The outcome of a candidate that was measured on some folds, and then on the others."""
    epochs = np.concatenate([np.full(len(part.scores), part.epochs) for part in parts])
    return replace(
        parts[0],
        scores=tuple(score for part in parts for score in part.scores),
        nodes=np.concatenate([part.nodes for part in parts]),
        probability=np.concatenate([part.probability for part in parts]),
        epochs=int(np.median(epochs)),
        is_cut=any(part.is_cut for part in parts),
        curves=tuple(curve for part in parts for curve in part.curves),
        seconds=sum(part.seconds for part in parts),
    )
