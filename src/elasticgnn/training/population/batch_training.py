"""The epochs of one batch of runs: forward, propagate, score, step; then evaluate."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from elasticgnn.data import NodeTask
from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.loop.history import History
from elasticgnn.training.loop.record import EpochResult, Record
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.population.batch import Batch
from elasticgnn.training.population.run import Run
from elasticgnn.training.population.scores import Scores

Progress = Callable[[int, float], None]
Finished = Callable[[int, History], None]


class BatchTraining:
    """The runs of a batch that are still training, and the records of all."""

    def __init__(
        self,
        task: NodeTask,
        runs: Sequence[Run],
        batch: Batch,
        penalty: ElasticPenalty,
        steps: int,
        plan: TrainingPlan,
    ) -> None:
        self.task, self.batch, self.steps, self.plan = task, batch, steps, plan
        self.norm, self.concavity = penalty.norm, penalty.concavity
        self.runs = runs
        self.records = [Record(plan.patience, plan.ties) for _ in runs]
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
        self.penalty = ElasticPenalty(lambda1, lambda2, self.norm, self.concavity)

    def fit(
        self,
        return_weights: bool,
        progress: Progress | None,
        finished: Finished | None = None,
        callback: Callback | None = None,
    ) -> list[History]:
        """The history of every run, in order; `finished` gets each as soon as its run stops."""
        start = time.perf_counter()
        for epoch in range(self.plan.epochs):
            began = time.perf_counter()
            count = len(self.alive)
            self.train_epoch(epoch)
            self.evaluate()
            self.write_down(return_weights)
            if callback is not None:
                for number in self.alive:
                    callback(str(number), epoch, self.records[number].epochs[-1]._asdict())
            share = (time.perf_counter() - began) / count
            for number in self.alive:
                self.seconds[number] += share
            training = self.alive
            self.retire()
            self.announce([number for number in training if number not in self.alive], finished)
            if progress is not None:
                best = [record.epochs[record.selected].val_accuracy for record in self.records]
                progress(count, sum(best) / len(best))
            if not self.alive or self.plan.is_over(time.perf_counter() - start):
                break
        self.announce(self.alive, finished)
        return [self.history(number) for number in range(len(self.runs))]

    def history(self, number: int) -> History:
        """The history of one run."""
        return self.records[number].history(self.seconds[number], self.best[number])

    def announce(self, numbers: Sequence[int], finished: Finished | None) -> None:
        """Hands finished runs to whoever waits for them."""
        if finished is not None:
            for number in numbers:
                finished(number, self.history(number))

    def propagate(self, logits: Tensor) -> Tensor:
        """The logits (n, R, c) after K elastic steps."""
        if self.is_identity:
            return logits
        return elastic_message_passing(logits, self.task.graph, self.penalty, self.steps)

    def train_epoch(self, epoch: int) -> None:
        """One step of the optimiser in every run."""
        logits = self.batch.forward(epoch).detach().requires_grad_()
        output = self.propagate(logits)
        self.train.measure(output.detach().contiguous(), self.grad)
        # of <output, grad>, which is grad: handed one, torch loads sympy, half a second a process
        (grad,) = torch.autograd.grad(output.flatten().dot(self.grad.flatten()), logits)
        self.batch.step(grad, epoch)

    @torch.no_grad()
    def evaluate(self) -> None:
        """Measures validation and test without dropout."""
        output = self.propagate(self.batch.forward()).contiguous()
        self.val.measure(output)
        self.test.measure(output, with_loss=False)

    def write_down(self, return_weights: bool) -> None:
        """Adds this epoch to the records; keeps the weights of runs that it is the best of."""
        columns = (self.train.loss, self.val.loss, self.val.accuracy, self.test.accuracy)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for position, (number, row) in enumerate(zip(self.alive, rows, strict=True)):
            if self.records[number].add(EpochResult(*row)) and return_weights:
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
