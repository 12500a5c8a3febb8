"""Whether the mean of several networks held out better than one of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from elasticgnn.data import Split
from elasticgnn.training.tuning.closed_form import is_closed_form
from elasticgnn.training.tuning.evaluate import Evaluation
from elasticgnn.training.tuning.metrics import score
from elasticgnn.training.tuning.outcome import Outcome

MEMBERS = 4
WORTH = 0.003  # what an ensemble must gain: one network is easier to look into


def worthwhile_ensemble(
    evaluation: Evaluation, best: Outcome, folds: Sequence[Split], seconds: float
) -> Outcome | None:
    """`best` as the mean of MEMBERS networks that differ in seed, if it held out better.

    Measured on the folds, as everything that is chosen; the holdout has no part in it. None where
    it is not better by WORTH, or where training them would take longer than `seconds`.
    """
    trainings = (MEMBERS - 1) * (1 + 2 / len(folds))  # of all folds; two refits of each member
    if is_closed_form(best.candidate) or best.is_cut or trainings * best.seconds > seconds:
        return None
    until, measured = time.perf_counter() + seconds, [best]
    for k in range(1, MEMBERS):
        left = until - time.perf_counter()
        other = evaluation.with_seed(evaluation.seed + k)
        measured += other.measure([best.candidate], folds, max(left, 1.0))
        if measured[-1].is_cut:
            return None
    together = pooled(evaluation, measured, folds)
    scale = abs(best.mean) if evaluation.metric in ("mae", "rmse") else 1.0
    return together if together.mean >= best.mean + WORTH * scale else None


def pooled(evaluation: Evaluation, measured: Sequence[Outcome], folds: Sequence[Split]) -> Outcome:
    """The mean of what several outcomes of one candidate say, scored fold by fold."""
    mean = np.mean([outcome.probability for outcome in measured], axis=0)
    ends = np.cumsum([len(fold.val) for fold in folds])[:-1]
    scores = [
        score(evaluation.metric, evaluation.truth(fold.val), part)
        for fold, part in zip(folds, np.split(mean, ends), strict=True)
    ]
    epochs = int(np.median([outcome.epochs for outcome in measured]))
    first = measured[0]
    return replace(
        first, scores=tuple(scores), probability=mean, epochs=epochs, members=len(measured)
    )
