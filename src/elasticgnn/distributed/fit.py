"""Training on a partition folder by any number of processes, with one result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.data import Split
from elasticgnn.distributed.agreement import check_same
from elasticgnn.distributed.checkpoint import State, read_checkpoint, run_digest, write_checkpoint
from elasticgnn.distributed.folder import PartitionFolder
from elasticgnn.distributed.graph import DistributedGraph
from elasticgnn.distributed.network import PartedNetwork, by_part
from elasticgnn.distributed.ordered_sum import sum_over_parts
from elasticgnn.distributed.stages import check_settings
from elasticgnn.features import draw_seed
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import History, TrainedModel, TrainingPlan
from elasticgnn.training.loop.record import EpochResult, Record

MOST_LISTED = 1_000_000  # lists of more nodes would outgrow the weights in a model file


@dataclass(frozen=True)
class Checkpoints:
    """Where the state of a training goes, and every how many epochs.

    >>> from pathlib import Path
    >>> from elasticgnn.distributed import Checkpoints
    >>> Checkpoints(Path("run.safetensors"), every=5).every
    5
    """

    path: Path
    every: int = 10

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"checkpoint_every must be >= 1, got {self.every}")


@dataclass(frozen=True, eq=False)
class PartedTraining:
    """A model with the weights of its selected epoch, the same in every process."""

    model: nn.Module
    settings: ModelSettings
    history: History
    graph: DistributedGraph
    folder: PartitionFolder
    seed: int

    @cached_property
    def split(self) -> Split:
        """The nodes that it was trained, selected and tested on; of all processes."""
        return self.folder.split(self.seed)

    def with_facts(self) -> TrainedModel:
        """The model with what its file says, in the same form as for a single process."""
        manifest = self.folder.manifest
        known: dict[str, Any] = {"seed": self.seed, "test_accuracy": self.history.test_accuracy}
        if manifest.num_nodes <= MOST_LISTED:
            known["split"] = self.split.to_lists()
        return TrainedModel(
            self.model,
            self.settings,
            manifest.class_names,
            manifest.num_features,
            {"name": manifest.name, "fingerprint": manifest.fingerprint},
            None,
            known,
            manifest.feature_names,
            categories=manifest.categories,
            fill=manifest.fill,
        )


def fit_parts(
    folder: PartitionFolder,
    settings: ModelSettings,
    plan: TrainingPlan,
    *,
    seed: int = 0,
    checkpoints: Checkpoints | None = None,
    progress: Callable[[int], None] | None = None,
) -> PartedTraining:
    """The model trained on the first split of `seed`, as `elasticgnn train` would.

    Every process of the group calls it. Weights, dropout and split are those of the single
    process; sums over nodes go part by part, so that the number of processes leaves no trace.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from elasticgnn.distributed import PartitionFolder, fit_parts, write_partition
    >>> with TemporaryDirectory() as place:
    ...     _ = write_partition(task, Path(place) / "parts", parts=2)
    ...     folder = PartitionFolder(Path(place) / "parts")
    ...     fit_parts(folder, ModelSettings(), TrainingPlan(epochs=3)).history.epochs
    3
    """
    check_settings(settings)
    check_plan(plan)
    run = run_digest(folder.manifest.digest, settings, plan, seed)
    graph = folder.graph()
    check_same("settings, plan and seed", run)
    scores = Scores.of(folder, seed, graph)
    generator = torch.Generator().manual_seed(seed)
    manifest = folder.manifest
    model = build_model(settings, manifest.num_features, len(manifest.class_names), generator)
    network = PartedNetwork(model, settings, folder, graph)
    loop = Loop(network, scores, plan, draw_seed(generator))
    if checkpoints is not None:
        loop.restore(read_checkpoint(checkpoints.path, run, graph))
    history = loop.run(checkpoints, run, progress)
    return PartedTraining(model, settings, history, graph, folder, seed)


def check_plan(plan: TrainingPlan) -> None:
    """Refuses what the sums over parts and the common number of epochs do not know."""
    if plan.balanced:
        raise ValueError("balanced must be off on a partition, got on")
    if plan.max_seconds is not None:  # clocks of several processes do not agree
        raise ValueError(f"max_seconds must be None on a partition, got {plan.max_seconds}")


class Scores:
    """Losses and hits on the nodes of this process, added up over all parts in order."""

    def __init__(
        self, labels: Tensor, roles: Tensor, counts: Sequence[int], graph: DistributedGraph
    ) -> None:
        self.graph, self.counts = graph, counts
        self.labels, self.roles = by_part(labels, graph), by_part(roles, graph)

    @classmethod
    def of(cls, folder: PartitionFolder, seed: int, graph: DistributedGraph) -> Scores:
        """The scores on the split of `seed`; of other processes' nodes nothing stays in memory."""
        split = folder.split(seed)
        roles = torch.zeros(graph.num_nodes, dtype=torch.int8)
        for number, nodes in enumerate((split.train, split.val, split.test), start=1):
            roles[nodes] = number
        labels = folder.labels[graph.nodes]
        if len(folder.manifest.class_names) <= 127:
            labels = labels.to(torch.int8)
        return cls(labels, roles[graph.nodes], split.sizes, graph)

    def training(self, logits: list[Tensor]) -> tuple[float, list[Tensor]]:
        """The mean loss of the training nodes, and its gradient by each part's logits."""
        losses: list[Tensor] = []
        grads: list[Tensor] = []
        for part, labels, roles in zip(logits, self.labels, self.roles, strict=True):
            rows = part.detach().requires_grad_()
            total = cross_entropy(rows[roles == 1], labels[roles == 1].long(), reduction="sum")
            loss = total / max(self.counts[0], 1)
            grads.extend(torch.autograd.grad(loss, rows))
            losses.append(loss.detach().double().reshape(1))
        return float(sum_over_parts(torch.stack(losses), self.graph)), grads

    def evaluation(self, logits: list[Tensor]) -> tuple[float, float, float]:
        """Validation loss, validation accuracy, test accuracy; nan where there are no nodes."""
        found = []
        for part, labels, roles in zip(logits, self.labels, self.roles, strict=True):
            hit = part.argmax(1) == labels
            loss = cross_entropy(part[roles == 2], labels[roles == 2].long(), reduction="sum")
            hits = [(hit & (roles == role)).sum().double() for role in (2, 3)]
            found.append(torch.stack([loss.double(), *hits]))
        total = sum_over_parts(torch.stack(found), self.graph).tolist()
        counts = (self.counts[1], self.counts[1], self.counts[2])
        val_loss, val, test = (
            x / count if count else math.nan for x, count in zip(total, counts, strict=True)
        )
        return val_loss, val, test


class Loop:
    """The epochs of one training."""

    def __init__(
        self, network: PartedNetwork, scores: Scores, plan: TrainingPlan, seed: int
    ) -> None:
        self.network, self.scores, self.plan, self.seed = network, scores, plan, seed
        rate, decay = plan.learning_rate, plan.weight_decay
        self.optimizer = torch.optim.Adam(network.parameters, lr=rate, weight_decay=decay)
        self.record = Record(plan.patience, plan.ties)
        self.best: State = {}

    def run(
        self, checkpoints: Checkpoints | None, run: str, progress: Callable[[int], None] | None
    ) -> History:
        """The history of the epochs until the plan is over, with checkpoints on the way."""
        began, model = time.perf_counter(), self.network.model
        while len(self.record.epochs) < self.plan.epochs and not self.record.is_finished:
            self.epoch(len(self.record.epochs))
            done = len(self.record.epochs)
            if progress is not None:
                progress(done)
            if checkpoints is not None and done % checkpoints.every == 0:
                self.write(checkpoints.path, run)
        model.load_state_dict(self.best)
        model.eval()
        return self.record.history(time.perf_counter() - began)

    def epoch(self, number: int) -> None:
        """Trains one epoch and measures it."""
        logits, trace = self.network.forward(self.seed, number)
        loss, grads = self.scores.training(logits)
        del logits  # their memory is wanted for the gradient
        self.network.backward(trace, grads)
        self.optimizer.step()
        with torch.no_grad():
            measured = self.scores.evaluation(self.network.forward(None)[0])
        if self.record.add(EpochResult(loss, *measured)):
            self.best = {k: v.clone() for k, v in self.network.model.state_dict().items()}

    def write(self, path: Path, run: str) -> None:
        """Writes a checkpoint, in the first process alone."""
        if self.network.graph.rank == 0:
            write_checkpoint(path, run, self.state(), self.record.epochs)

    def state(self) -> State:
        """Weights, best weights and Adam's moments by name."""
        weights = self.network.model.state_dict()
        state = {f"weights.{name}": value for name, value in weights.items()}
        state |= {f"best.{name}": value for name, value in self.best.items()}
        for number, parameter in enumerate(self.network.parameters):
            for name, value in self.optimizer.state[parameter].items():
                state[f"adam.{number}.{name}"] = value
        return state

    def restore(self, found: tuple[State, list[EpochResult]] | None) -> None:
        """Continues behind the epoch of a checkpoint."""
        if found is None:
            return
        state, epochs = found
        self.network.model.load_state_dict(chosen(state, "weights."))
        self.best = chosen(state, "best.")
        for epoch in epochs:
            self.record.add(epoch)
        for number, parameter in enumerate(self.network.parameters):
            self.optimizer.state[parameter] = chosen(state, f"adam.{number}.")


def chosen(state: State, prefix: str) -> State:
    """The entries under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
