"""Candidates measured on folds: side by side where the model allows it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.data.own.stand_ins import structural_features
from elasticgnn.training.fit import fit
from elasticgnn.training.loop.forward import forward_on
from elasticgnn.training.loop.history import History
from elasticgnn.training.make_model import make_model
from elasticgnn.training.model.preparation import Preparation, fit_preparation
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population import fit_population
from elasticgnn.training.population.batch_form import batch_form
from elasticgnn.training.population.feature_orders import can_be_stored
from elasticgnn.training.population.run import run_of
from elasticgnn.training.tuning.candidates import Candidate
from elasticgnn.training.tuning.closed_form import fit_closed_form, is_closed_form
from elasticgnn.training.tuning.metrics import Metric, score
from elasticgnn.training.tuning.outcome import Outcome
from elasticgnn.training.tuning.outcome_file import OutcomeFile
from elasticgnn.training.wrappers.ensemble import Ensemble
from elasticgnn.training.wrappers.hops import OnHops, hop_features

LARGE = 50_000  # nodes from which on models are trained one by one


class Evaluation:
    """A task whose features are prepared, seen with its features and by the ids of its nodes."""

    def __init__(
        self,
        task: NodeTask,
        metric: Metric,
        seed: int,
        unit: tuple[float, float] | None = None,
        *,
        known: OutcomeFile | None = None,
        refit_seconds: float | None = None,
    ) -> None:
        self.task, self.metric, self.seed, self.unit = task, metric, seed, unit
        self.known, self.refit_seconds = known, refit_seconds
        ids = structural_features(task.graph)
        named = replace(task, features=ids, feature_names=None, made_features=True)
        self.by_id = task if task.made_features else named
        self._hops: dict[int, tuple[NodeTask, Preparation]] = {}

    @property
    def is_large(self) -> bool:
        """Whether there are so many nodes that runs go one after the other."""
        return self.task.num_nodes > LARGE

    def truth(self, nodes: Tensor) -> NDArray[Any]:
        """The classes of some nodes, or their numbers as they were given."""
        if self.task.values is None or self.unit is None:
            return self.task.labels[nodes].numpy()
        numbers: NDArray[Any] = self.unit[0] + self.unit[1] * self.task.values[nodes].numpy()
        return numbers

    def task_of(self, candidate: Candidate) -> NodeTask:
        """The task as the candidate sees it."""
        if candidate.hops:
            return self.on_hops(candidate.hops)[0]
        return self.by_id if candidate.by_id else self.task

    def on_hops(self, hops: int) -> tuple[NodeTask, Preparation]:
        """The task with prepared hop features, and what prepared them."""
        if hops not in self._hops:
            columns = hop_features(self.task.features, self.task.graph, hops)
            wide = replace(self.task, features=columns, feature_names=None)
            preparation = fit_preparation(columns)
            self._hops[hops] = preparation.apply(wide), preparation
        return self._hops[hops]

    def finished(self, candidate: Candidate, model: nn.Module) -> nn.Module:
        """The model of a candidate as one of the task's own features."""
        if not candidate.hops:
            return model
        made = self.on_hops(candidate.hops)[1]
        parts = torch.tensor(made.center), torch.tensor(made.scale)
        return OnHops(model, candidate.hops, *parts).eval()

    def goes_side_by_side(self, candidate: Candidate) -> bool:
        """Whether the candidate can be trained in a batch of runs."""
        fits = can_be_stored(self.task_of(candidate).features)
        plain = self.unit is None and not candidate.plan.balanced and not self.is_large
        return batch_form(candidate.settings) is not None and plain and fits

    def measure(
        self, candidates: Sequence[Candidate], folds: Sequence[Split], seconds: float
    ) -> list[Outcome]:
        """One outcome per candidate, in any order, in about `seconds` (at least 1 each).

        What an interrupted comparison has left behind is not measured again.
        """
        until = time.perf_counter() + seconds
        found = [] if self.known is None else self.known_outcomes(candidates, len(folds))
        done = [outcome.candidate for outcome in found]
        groups = self.groups(c for c in candidates if c not in done)
        for position, group in enumerate(groups):
            share = (until - time.perf_counter()) / (len(groups) - position)
            measured = self.measure_group(group, folds, max(share, 1.0))
            found += measured
            if self.known is not None:
                self.known.add(measured)
        return found

    def known_outcomes(self, candidates: Sequence[Candidate], folds: int) -> list[Outcome]:
        """Those of the candidates that were measured before on so many folds."""
        assert self.known is not None
        found = [self.known.find(candidate, folds) for candidate in candidates]
        return [outcome for outcome in found if outcome is not None]

    def groups(self, candidates: Iterable[Candidate]) -> list[list[Candidate]]:
        """Candidates that share model, steps, norm, width and features; all others alone."""
        groups: dict[Any, list[Candidate]] = {}
        for number, candidate in enumerate(candidates):
            key: Any = number
            form = batch_form(candidate.settings)
            if form is not None and self.goes_side_by_side(candidate):
                seen = candidate.by_id, candidate.hops
                key = *seen, form.name, form.steps, form.norm, form.hidden_channels
            groups.setdefault(key, []).append(candidate)
        return list(groups.values())

    def measure_group(
        self, group: list[Candidate], folds: Sequence[Split], seconds: float
    ) -> list[Outcome]:
        """Outcomes of candidates that are trained together."""
        first = group[0]
        if is_closed_form(first):
            task = self.task_of(first)
            models = [fit_closed_form(first, task, fold.train) for fold in folds]
            return [self.outcome(first, folds, models, [])]
        plan = replace(first.plan, max_seconds=seconds / len(folds))
        if not self.goes_side_by_side(first):
            fits = [
                self.fit_one(first, replace(first.plan, max_seconds=plan.max_seconds), fold)
                for fold in folds
            ]
            return [self.outcome(first, folds, [m for m, _ in fits], [h for _, h in fits])]
        histories = self.fit_side_by_side(group, folds, seconds)
        found = []
        for number, candidate in enumerate(group):
            part = histories[number * len(folds) : (number + 1) * len(folds)]
            models = [self.model_of(candidate, history) for history in part]
            found.append(self.outcome(candidate, folds, models, part))
        return found

    def fit_one(
        self, candidate: Candidate, plan: TrainingPlan, split: Split
    ) -> tuple[nn.Module, History]:
        """A trained model and its history."""
        generator = torch.Generator().manual_seed(self.seed)
        task = self.task_of(candidate)
        model = make_model(candidate.settings, task, generator)
        history = fit(model, task, split, plan, generator)
        return model, history

    def fit_side_by_side(
        self, group: list[Candidate], folds: Sequence[Split], seconds: float
    ) -> list[History]:
        """Histories of all candidates on all folds, from batches of runs."""
        runs = [run_of(c.settings, c.plan, fold, self.seed) for c in group for fold in folds]
        batches = -(-len(runs) // 16)
        plan = replace(group[0].plan, max_seconds=seconds / batches)
        task = self.task_of(group[0])
        return fit_population(task, runs, group[0].settings, plan, return_weights=True)

    def model_of(self, candidate: Candidate, history: History) -> nn.Module:
        """The model with the weights that a history keeps."""
        form = batch_form(candidate.settings)
        assert form is not None
        assert history.weights is not None
        model = make_model(form, self.task_of(candidate), torch.Generator())
        model.load_state_dict(history.weights)
        return model.eval()

    def outcome(
        self,
        candidate: Candidate,
        folds: Sequence[Split],
        models: Sequence[nn.Module],
        histories: Sequence[History],
    ) -> Outcome:
        """Scores and probabilities of a candidate's models, fold by fold."""
        outputs = [
            self.probability(candidate, model, fold.val)
            for model, fold in zip(models, folds, strict=True)
        ]
        labels = [self.truth(fold.val) for fold in folds]
        scores = [score(self.metric, y, p) for y, p in zip(labels, outputs, strict=True)]
        nodes = torch.cat([fold.val for fold in folds]).numpy()
        epochs = [history.selected_epoch + 1 for history in histories] or [0]
        cut = any(was_cut(history, candidate.plan) for history in histories)
        return Outcome(
            candidate,
            tuple(scores),
            nodes,
            np.concatenate(outputs),
            int(np.median(epochs)),
            cut,
            tuple(history.curves() for history in histories),
            sum(history.seconds for history in histories),
        )

    @torch.no_grad()
    def probability(
        self, candidate: Candidate, model: nn.Module, nodes: Tensor
    ) -> NDArray[np.float64]:
        """Class probabilities of some nodes (k, classes), or their numbers (k, 1)."""
        task = self.task_of(candidate)
        model.eval()
        logits = forward_on(model, task.features, task.graph)(None)[nodes]
        if self.unit is not None:
            numbers: NDArray[np.float64] = self.unit[0] + self.unit[1] * logits.double().numpy()
            return numbers
        probability: NDArray[np.float64] = logits.double().softmax(1).numpy()
        return probability

    def refit(self, outcome: Outcome, train: Tensor) -> nn.Module:
        """The candidate trained on `train` for as many epochs as the folds selected.

        Only `refit_seconds` cut it short, since a network with fewer epochs is another than the
        one that was chosen. An ensemble has networks of several seeds.
        """
        candidate = outcome.candidate
        if is_closed_form(candidate):
            return fit_closed_form(candidate, self.task_of(candidate), train)
        nothing = torch.empty(0, dtype=torch.int64)
        limit = None if self.refit_seconds is None else self.refit_seconds / outcome.members
        plan = replace(candidate.plan, epochs=outcome.epochs, patience=None, max_seconds=limit)
        split = Split(train, nothing, nothing)
        members = [
            self.with_seed(self.seed + k).fit_one(candidate, plan, split)[0]
            for k in range(outcome.members)
        ]
        if outcome.members == 1:
            return members[0]
        return Ensemble(members, of_numbers=self.unit is not None).eval()

    def with_seed(self, seed: int) -> Evaluation:
        """The same evaluation with other weights to start from, and none of what was measured."""
        if seed == self.seed:
            return self
        other = copy(self)
        other.seed, other.known = seed, None
        return other


def was_cut(history: History, plan: TrainingPlan) -> bool:
    """Whether a training ended before its epochs and before its patience did."""
    waited = history.epochs - 1 - history.selected_epoch
    return history.epochs < plan.epochs and (plan.patience is None or waited < plan.patience)
