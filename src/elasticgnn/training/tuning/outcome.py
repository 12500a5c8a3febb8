"""What a candidate has shown on the folds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elasticgnn.training.tuning.candidates import Candidate


@dataclass(frozen=True, eq=False)
class Outcome:
    """A candidate's metric on each fold, and what it said of the nodes it did not train on.

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
