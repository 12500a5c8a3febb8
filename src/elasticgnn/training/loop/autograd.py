"""The training loop by autograd: for any model, and what the fused loops are compared with."""

from __future__ import annotations

import time
from typing import Protocol

import torch
from torch import Tensor, nn

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise
from elasticgnn.tracking.callback import Callback
from elasticgnn.training.loop.forward import forward_on
from elasticgnn.training.loop.history import History
from elasticgnn.training.loop.objective import quality, training_loss
from elasticgnn.training.loop.record import EpochResult, Record
from elasticgnn.training.plan import TrainingPlan


def fit_by_autograd(
    model: nn.Module,
    task: NodeTask,
    split: Split,
    plan: TrainingPlan,
    seed: int,
    callback: Callback | None = None,
    *,
    subject: Subject | None = None,
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch.

    `subject` is the model with its data where they are not the whole task's.
    """
    began = time.perf_counter()
    optimizer = torch.optim.Adam(
        model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    record = Record(plan.patience, plan.ties)
    best: dict[str, Tensor] = {}
    subject = ModelOnTask(model, task, split, plan) if subject is None else subject
    with torch.random.fork_rng(devices=[]):  # foreign modules draw from torch's global state
        torch.default_generator.manual_seed(seed)
        for epoch in range(plan.epochs):
            loss = subject.step(optimizer, DropoutNoise(seed, epoch))
            if record.add(EpochResult(loss, *subject.evaluate())):
                best = {name: value.clone() for name, value in model.state_dict().items()}
                subject.chosen(record)
            if callback is not None:
                callback("fit", epoch, record.epochs[-1]._asdict())
            if record.is_finished or plan.is_over(time.perf_counter() - began):
                break
    model.load_state_dict(best)
    return record.history(time.perf_counter() - began)


class Subject(Protocol):
    """A model with the data that it is trained and measured on."""

    def step(self, optimizer: torch.optim.Optimizer, noise: DropoutNoise) -> float:
        """The training loss before one step of the optimizer."""

    def evaluate(self) -> tuple[float, float, float]:
        """Validation loss, and accuracy of validation and test, without dropout."""

    def chosen(self, record: Record) -> None:
        """Called when the epoch just measured is the new choice."""


class ModelOnTask:
    """A model with its task; what the model wants to know of the graph is prepared once."""

    def __init__(self, model: nn.Module, task: NodeTask, split: Split, plan: TrainingPlan) -> None:
        self.model, self.split = model, split
        self.loss, self.quality = training_loss(task, split.train, plan), quality(task)
        self.forward = forward_on(model, task.features, task.graph)

    def step(self, optimizer: torch.optim.Optimizer, noise: DropoutNoise) -> float:
        """The training loss before one step of the optimizer."""
        self.model.train()
        optimizer.zero_grad()
        logits = self.forward(noise)
        loss = self.loss(logits, self.split.train)
        torch.autograd.backward(loss)
        optimizer.step()
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float, float]:
        """Validation loss, and accuracy (or R^2) of validation and test, without dropout."""
        self.model.eval()
        logits, split = self.forward(None), self.split
        val, test = (float(self.quality(logits, part)) for part in (split.val, split.test))
        return float(self.loss(logits, split.val)), val, test

    def chosen(self, record: Record) -> None:
        """Nothing is left to measure."""


def accuracy(logits: Tensor, labels: Tensor, nodes: Tensor) -> float:
    """Share of `nodes` whose largest logit is their label's; nan when there are none."""
    return float((logits[nodes].argmax(1) == labels[nodes]).double().mean())
