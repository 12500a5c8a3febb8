"""Training of many runs of ElasticGNN or GCN side by side on one graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures, draw_seed
from elasticgnn.kernels import native, warn_once_if_missing
from elasticgnn.nn import ModelSettings
from elasticgnn.nn.build import build_weights
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training.loop.autograd import fit_by_autograd
from elasticgnn.training.loop.history import History
from elasticgnn.training.make_model import make_model
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population.batch import (
    ELASTIC_NAMES,
    GCN_NAMES,
    LANES,
    Batch,
    Shape,
    normalized_matrix,
)
from elasticgnn.training.population.batch_form import batch_form
from elasticgnn.training.population.batch_training import BatchTraining, Finished, Progress
from elasticgnn.training.population.feature_orders import FeatureOrders, stored
from elasticgnn.training.population.run import Run

BATCH_BYTES = 2**30


def fit_population(
    task: NodeTask,
    runs: Sequence[Run],
    settings: ModelSettings,
    plan: TrainingPlan,
    *,
    return_weights: bool = False,
    progress: Progress | None = None,
    finished: Finished | None = None,
) -> list[History]:
    """One History per run, in order; each equals, to rounding, what the run gives alone.

    `settings` (gcn; elastic, appnp or mlp with two layers) and `plan` say what all runs share;
    what a `Run` names itself replaces theirs. A run draws its weights and then its dropout seed
    from a generator seeded with `run.seed`, as `make_model` and `fit` do. progress is called with
    the run-epochs finished since its last call and the mean best validation accuracy of the batch
    so far, finished with number and History of each run as soon as it stops. return_weights fills
    `History.weights` (a state dict of ElasticGNN or GCN).

    >>> from elasticgnn.training import Run, fit_population
    >>> runs = [Run(split, seed=k) for k in range(3)]
    >>> len(fit_population(task, runs, ModelSettings(), TrainingPlan(epochs=5)))
    3
    """
    form = batch_form(settings)
    if form is None:
        raise ValueError(f"settings must be of a two-layer elastic model or gcn, got {settings}")
    check_runs(runs)
    task = replace(task, features=stored(task.features))
    if native is None:
        warn_once_if_missing()
    if native is None or plan.balanced or task.values is not None:  # the loops know neither
        return fit_one_by_one(task, runs, form, plan, return_weights, finished)
    return fit_in_batches(task, runs, form, plan, return_weights, progress, finished)


def fit_in_batches(
    task: NodeTask,
    runs: Sequence[Run],
    settings: ModelSettings,
    plan: TrainingPlan,
    return_weights: bool,
    progress: Progress | None,
    finished: Finished | None,
) -> list[History]:
    """One batch after the other through the compiled loops; results in the order of the runs."""
    penalty = ElasticPenalty(0.0, 0.0, settings.norm, settings.concavity)
    orders = FeatureOrders(stored(task.features))
    results: dict[int, History] = {}
    size = batch_size(task, settings.hidden_channels, settings.steps)
    matrix = normalized_matrix(task.graph) if settings.name == "gcn" else None
    for numbers in batches(runs, size):
        chosen = [runs[number] for number in numbers]
        batch = new_batch(task, orders, chosen, settings, matrix)
        together = BatchTraining(task, chosen, batch, penalty, settings.steps, plan)
        histories = together.fit(return_weights, progress, numbered(finished, numbers))
        results.update(zip(numbers, histories, strict=True))
    return [results[number] for number in range(len(runs))]


def numbered(finished: Finished | None, numbers: Sequence[int]) -> Finished | None:
    """`finished` for a batch whose runs have these numbers among all."""
    if finished is None:
        return None
    return lambda position, history: finished(numbers[position], history)


def fit_one_by_one(
    task: NodeTask,
    runs: Sequence[Run],
    settings: ModelSettings,
    plan: TrainingPlan,
    return_weights: bool,
    finished: Finished | None,
) -> list[History]:
    """Run after run by autograd: where the compiled loops are missing, or know no such loss."""
    histories = []
    for number, run in enumerate(runs):
        histories.append(fit_alone(task, run, settings, plan, return_weights))
        if finished is not None:
            finished(number, histories[-1])
    return histories


def check_runs(runs: Sequence[Run]) -> None:
    """Refuses runs without training nodes."""
    for number, run in enumerate(runs):
        if len(run.split.train) == 0:
            raise ValueError(f"split of run {number} must have training nodes, got none")


def fit_alone(
    task: NodeTask, run: Run, settings: ModelSettings, plan: TrainingPlan, return_weights: bool
) -> History:
    """The same run by autograd: where the compiled loops are missing, and in tests."""
    generator = torch.Generator().manual_seed(run.seed)
    settings = replace(settings, dropout=run.dropout, lambda1=run.lambda1, lambda2=run.lambda2)
    model = make_model(settings, task, generator)
    plan = replace(plan, learning_rate=run.learning_rate, weight_decay=run.weight_decay)
    history = fit_by_autograd(model, task, run.split, plan, draw_seed(generator))
    return replace(history, weights=model.state_dict()) if return_weights else history


def new_batch(
    task: NodeTask,
    orders: FeatureOrders,
    runs: Sequence[Run],
    settings: ModelSettings,
    matrix: SparseFeatures | None,
) -> Batch:
    """Freshly initialised runs."""
    weights: list[dict[str, Tensor]] = []
    seeds: list[int] = []
    for run in runs:
        generator = torch.Generator().manual_seed(run.seed)
        weights.append(build_weights(settings, task.num_features, task.num_outputs, generator))
        seeds.append(draw_seed(generator))
    names = ELASTIC_NAMES if matrix is None else GCN_NAMES
    shape = Shape(task.num_features, settings.hidden_channels, task.num_classes, names)
    return Batch(orders, shape, runs, weights, seeds, matrix)


def batch_size(task: NodeTask, hidden_channels: int, steps: int) -> int:
    """How many runs fit into BATCH_BYTES, at least 1 and at most one per lane of the operator."""
    weights = 3 * task.num_features * hidden_channels
    activations = task.num_nodes * (2 * hidden_channels + (2 * steps + 4) * task.num_classes)
    duals = (steps + 2) * task.graph.num_edges * task.num_classes
    return max(1, min(LANES, BATCH_BYTES // (4 * (weights + activations + duals) + 1)))


def batches(runs: Sequence[Run], size: int) -> list[list[int]]:
    """Run numbers in groups of at most `size`; a group costs the same however few are in it.

    Runs without a dual (lambda1 = 0) are cheaper among themselves; what is left over of each
    kind is put together where it fits into one group.
    """
    kinds: dict[tuple[bool, bool], list[int]] = {}
    for number, run in enumerate(runs):
        kind = run.lambda1 == 0, run.lambda1 == 0 and run.lambda2 == 0
        kinds.setdefault(kind, []).append(number)
    groups = [
        numbers[first : first + size]
        for numbers in kinds.values()
        for first in range(0, len(numbers), size)
    ]
    whole = [group for group in groups if len(group) == size]
    for rest in sorted((group for group in groups if len(group) < size), key=len, reverse=True):
        fitting = next((group for group in whole if len(group) + len(rest) <= size), None)
        if fitting is None:
            whole.append(rest)
        else:
            fitting.extend(rest)
    return whole
