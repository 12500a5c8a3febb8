"""The epochs of one batch of runs: forward, propagate, score, step; then evaluate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty
from elasticgnn.training.batch import Batch
from elasticgnn.training.history import History
from elasticgnn.training.record import EpochResult, Record
from elasticgnn.training.run import Run
from elasticgnn.training.scores import Scores

Progress = Callable[[int, float], None]


class SideBySide:
    """The runs of a batch that are still training, and the records of all."""

    def __init__(
        self,
        task: NodeTask,
        runs: Sequence[Run],
        batch: Batch,
        penalty: ElasticPenalty,
        steps: int,
        patience: int | None = None,
    ) -> None:
        self.task, self.batch, self.steps = task, batch, steps
        self.norm, self.concavity = penalty.norm, penalty.concavity
        self.runs = runs
        self.records = [Record(patience) for _ in runs]
        self.seconds = [0.0] * len(runs)
        self.best: list[dict[str, Tensor] | None] = [None] * len(runs)
        self.alive = list(range(len(runs)))
        self._bind()

    def _bind(self) -> None:
        """Everything that depends on which runs are alive."""
        alive = [self.runs[number] for number in self.alive]
        labels = self.task.labels
        self.train = Scores([run.split.train for run in alive], labels)
        self.val = Scores([run.split.val for run in alive], labels)
        self.test = Scores([run.split.test for run in alive], labels)
        self.grad = torch.empty_like(self.batch.logits)
        lambda1 = torch.tensor([run.lambda1 for run in alive])
        lambda2 = torch.tensor([run.lambda2 for run in alive])
        self.is_identity = self.steps == 0 or not bool((lambda1 + lambda2).any())
        concavity = None if self.norm in ("l21", "l1") else self.concavity
        self.penalty = ElasticPenalty(lambda1, lambda2, self.norm, concavity)

    def fit(self, epochs: int, keep_weights: bool, progress: Progress | None) -> list[History]:
        """The history of every run, in order."""
        for epoch in range(epochs):
            began = time.perf_counter()
            count = len(self.alive)
            self.train_epoch(epoch)
            self.evaluate()
            self.write_down(keep_weights)
            share = (time.perf_counter() - began) / count
            for number in self.alive:
                self.seconds[number] += share
            self.retire()
            if progress is not None:
                best = [record.epochs[record.selected].val_accuracy for record in self.records]
                progress(count, sum(best) / len(best))
            if not self.alive:
                break
        parts = zip(self.records, self.seconds, self.best, strict=True)
        return [record.history(seconds, weights) for record, seconds, weights in parts]

    def propagate(self, logits: Tensor) -> Tensor:
        if self.is_identity:
            return logits
        return elastic_message_passing(logits, self.task.graph, self.penalty, self.steps)

    def train_epoch(self, epoch: int) -> None:
        logits = self.batch.forward(epoch).detach().requires_grad_()
        output = self.propagate(logits)
        self.train.measure(output.detach().contiguous(), self.grad)
        (grad,) = torch.autograd.grad(output, logits, self.grad)
        self.batch.step(grad, epoch)

    @torch.no_grad()
    def evaluate(self) -> None:
        output = self.propagate(self.batch.forward()).contiguous()
        self.val.measure(output)
        self.test.measure(output, with_loss=False)

    def write_down(self, keep_weights: bool) -> None:
        """Adds this epoch to the records; keeps the weights of runs that it is the best of."""
        columns = (self.train.loss, self.val.loss, self.val.accuracy, self.test.accuracy)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for position, (number, row) in enumerate(zip(self.alive, rows, strict=True)):
            if self.records[number].add(EpochResult(*row)) and keep_weights:
                self.best[number] = self.batch.state(position)

    def retire(self) -> None:
        """Takes finished runs out of the batch."""
        going_on = [
            p for p, number in enumerate(self.alive) if not self.records[number].is_finished
        ]
        if len(going_on) == len(self.alive):
            return
        self.alive = [self.alive[position] for position in going_on]
        if self.alive:
            self.batch.select(going_on)
            self._bind()
