"""The training loop by autograd: for any model, and what the fused loops are compared with."""

import time

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise
from elasticgnn.training.forward import forward_on
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
    scene = Scene(model, task, split)
    with torch.random.fork_rng(devices=[]):  # foreign modules draw from torch's global state
        torch.default_generator.manual_seed(seed)
        for epoch in range(plan.epochs):
            loss = scene.step(optimizer, DropoutNoise(seed, epoch))
            if record.add(EpochResult(loss, *scene.evaluate())):
                best = {name: value.clone() for name, value in model.state_dict().items()}
            if record.is_finished:
                break
    model.load_state_dict(best)
    return record.history(time.perf_counter() - began)


class Scene:
    """A model before a task; what the model wants to know of the graph is prepared once."""

    def __init__(self, model: nn.Module, task: NodeTask, split: Split) -> None:
        self.model, self.split, self.labels = model, split, task.labels
        self.forward = forward_on(model, task.features, task.graph)

    def step(self, optimizer: torch.optim.Optimizer, noise: DropoutNoise) -> float:
        """The training loss before one step of the optimizer."""
        self.model.train()
        optimizer.zero_grad()
        logits = self.forward(noise)
        loss = cross_entropy(logits[self.split.train], self.labels[self.split.train])
        torch.autograd.backward(loss)
        optimizer.step()
        return float(loss.detach())

    @torch.no_grad()
    def evaluate(self) -> tuple[float, float, float]:
        """Validation loss, validation accuracy and test accuracy, without dropout."""
        self.model.eval()
        logits, labels = self.forward(None), self.labels
        val_loss = float(cross_entropy(logits[self.split.val], labels[self.split.val]))
        val, test = (accuracy(logits, labels, part) for part in (self.split.val, self.split.test))
        return val_loss, val, test


def accuracy(logits: Tensor, labels: Tensor, nodes: Tensor) -> float:
    """Share of `nodes` whose largest logit is their label's; nan when there are none."""
    return float((logits[nodes].argmax(1) == labels[nodes]).double().mean())
