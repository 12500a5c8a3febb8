"""The training loop by autograd: for any model, and what the fused loops are compared with."""

import time

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise
from elasticgnn.training.history import History
from elasticgnn.training.plan import TrainingPlan
from elasticgnn.training.record import EpochResult, Record


def fit_by_autograd(
    model: nn.Module, task: NodeTask, split: Split, plan: TrainingPlan, seed: int
) -> History:
    """The curves of training `model`, which is left with the weights of the selected epoch."""
    began = time.perf_counter()
    optimizer = torch.optim.Adam(
        model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    record = Record(plan.patience)
    best: dict[str, Tensor] = {}
    for epoch in range(plan.epochs):
        loss = step(model, optimizer, task, split, DropoutNoise(seed, epoch))
        if record.add(EpochResult(loss, *evaluate(model, task, split))):
            best = {name: value.clone() for name, value in model.state_dict().items()}
        if record.is_finished:
            break
    model.load_state_dict(best)
    return record.history(time.perf_counter() - began)


def step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: NodeTask,
    split: Split,
    noise: DropoutNoise,
) -> float:
    """The training loss before one step of the optimizer."""
    model.train()
    optimizer.zero_grad()
    logits = model(task.features, task.graph, noise=noise)
    loss = cross_entropy(logits[split.train], task.labels[split.train])
    loss.backward()  # type: ignore[no-untyped-call]  # torch's
    optimizer.step()
    return float(loss.detach())


@torch.no_grad()
def evaluate(model: nn.Module, task: NodeTask, split: Split) -> tuple[float, float, float]:
    """Validation loss, validation accuracy and test accuracy, without dropout."""
    model.eval()
    logits = model(task.features, task.graph)
    val_loss = float(cross_entropy(logits[split.val], task.labels[split.val]))
    return (
        val_loss,
        accuracy(logits, task.labels, split.val),
        accuracy(logits, task.labels, split.test),
    )


def accuracy(logits: Tensor, labels: Tensor, nodes: Tensor) -> float:
    """Share of `nodes` whose largest logit is their label's; nan when there are none."""
    return float((logits[nodes].argmax(1) == labels[nodes]).double().mean())
