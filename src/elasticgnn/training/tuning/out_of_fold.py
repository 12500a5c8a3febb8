"""Predictions of the winner for known nodes that its training did not see."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from elasticgnn.training.tuning.holdout import Holdout
from elasticgnn.training.tuning.outcome import Outcome

Array = NDArray[Any]
MOST_PIECES = 12  # of one group of nodes, where labels pass along edges
FEW_PIECES = 4  # where they do not: what calibrates is trained on 95 % of the labels, not on 80 %


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Outputs for the holdout and for the nodes of the folds, each by a model trained without it.

    nodes (k,), outputs (k, classes) or (k, 1), group (k,): 0 the holdout, in its order, f the
    nodes that fold f - 1 validated on. refit_on_holdout: whether the saved model is trained on
    them, too; else they are a test of one's own, which calibrates nothing.
    """

    nodes: Array
    outputs: Array
    group: Array
    refit_on_holdout: bool

    @property
    def of_holdout(self) -> Array:
        """The outputs for the holdout."""
        return self.outputs[self.group == 0]

    @property
    def of_folds(self) -> OutOfFold:
        """The nodes of the folds alone."""
        return self.part(self.group > 0)

    @property
    def calibrating(self) -> OutOfFold:
        """The nodes by which the saved model is calibrated."""
        return self if self.refit_on_holdout else self.of_folds

    def part(self, chosen: NDArray[np.bool_]) -> OutOfFold:
        """Some of the nodes."""
        rows = self.nodes[chosen], self.outputs[chosen], self.group[chosen]
        return OutOfFold(*rows, self.refit_on_holdout)


def predict_out_of_fold(holdout: Holdout, best: Outcome, seconds: float) -> OutOfFold:
    """Outputs for known nodes of `best`, trained as the saved model is, but without them.

    The folds themselves would not do: their models chose their epochs by these very nodes, and
    they were trained on fewer labels than the saved one: they are right less often, and models
    that pass labels along edges are less sure. So each is asked about a piece of a group at a time,
    as small as the `seconds` allow. Groups for which they are not enough keep the outputs of the
    folds. The holdout is one piece, as on the rest of the leaderboard, unless labels pass along
    edges.
    """
    division, began = holdout.division, time.perf_counter()
    folds = division.folds[: len(best.scores)]
    groups = [division.holdout, *(fold.val for fold in folds)]
    ends = np.cumsum([len(fold.val) for fold in folds])[:-1]
    outputs = [holdout.outputs_of(best), *np.split(best.probability, ends)]
    each = time.perf_counter() - began
    by_id = best.candidate.by_id
    most = (MOST_PIECES if by_id else FEW_PIECES) if division.order == "random" else 1
    pieces = int(np.clip(seconds / max(each * len(groups), 1e-9), 1, most))
    for number, nodes in enumerate(groups):
        is_over = time.perf_counter() - began + pieces * each > seconds
        if is_over or (number == 0 and (pieces == 1 or not by_id)):
            continue
        outputs[number] = outputs_without(holdout, best, number, nodes, pieces)
    numbers = np.repeat(np.arange(len(groups)), [len(nodes) for nodes in groups])
    rows = torch.cat(groups).numpy(), np.concatenate(outputs), numbers
    return OutOfFold(*rows, division.refit_on_holdout)


def outputs_without(
    holdout: Holdout, best: Outcome, group: int, nodes: Tensor, pieces: int
) -> Array:
    """The outputs for `nodes`, a piece at a time, of models trained on everything else."""
    division, evaluation = holdout.division, holdout.evaluation
    fold = group - 1 if group else None
    found: list[tuple[Array, Array]] = []
    for piece in range(min(pieces, len(nodes))):
        places = torch.arange(piece, len(nodes), pieces)
        model = evaluation.refit(best, division.trained_without(nodes[places], fold))
        found.append((places.numpy(), evaluation.probability(best.candidate, model, nodes[places])))
    order = np.argsort(np.concatenate([places for places, _ in found]))
    outputs: Array = np.concatenate([part for _, part in found])[order]
    return outputs
