"""Training against an attacker (Gosch et al. 2023)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.attack import AttackBudget, GradientSettings, attack
from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise
from elasticgnn.features.dropout import draw_seed
from elasticgnn.graph import Graph
from elasticgnn.training import TrainingPlan


def fit_adversarially(
    model: nn.Module,
    task: NodeTask,
    split: Split,
    plan: TrainingPlan,
    generator: torch.Generator,
    *,
    rate: float = 0.1,
    every: int = 10,
) -> None:
    """Trains `model` on graphs that PRBCD attacks anew, through its training nodes, now and then.

    After a third of the epochs on the clean graph each `every` epochs the graph is attacked with
    `rate` of its edges; the weights of the best validation accuracy on the attacked graph stay.

    >>> from elasticgnn.defence import fit_adversarially
    >>> fit_adversarially(model, task, split, TrainingPlan(epochs=3), generator)
    """
    optimizer = torch.optim.Adam(
        model.parameters(), lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    settings = GradientSettings(block_size=10_000, epochs=8, fresh_epochs=4, samples=2)
    seed, graph, best = draw_seed(generator), task.graph, -1.0
    chosen = {name: value.clone() for name, value in model.state_dict().items()}
    aim = torch.cat((split.train, split.val))
    for epoch in range(plan.epochs):
        if epoch >= plan.epochs // 3 and epoch % every == 0:
            budget = AttackBudget(rate=rate)
            found = attack(
                task, split, budget, "prbcd", model, generator, settings=settings, targets=aim
            )
            graph, best = found.apply(task.graph), -1.0 if epoch < plan.epochs // 2 else best
        model.train()
        optimizer.zero_grad()
        logits = model(task.features, graph, noise=DropoutNoise(seed, epoch))[split.train]
        torch.autograd.backward(cross_entropy(logits, task.labels[split.train]))
        optimizer.step()
        value = val_accuracy(model, task, graph, split.val)
        if value > best:
            best = value
            chosen = {name: part.clone() for name, part in model.state_dict().items()}
    model.load_state_dict(chosen)
    model.eval()


@torch.no_grad()
def val_accuracy(model: nn.Module, task: NodeTask, graph: Graph, nodes: Tensor) -> float:
    """Share of `nodes` that the model gets right on `graph`."""
    model.eval()
    guess = model(task.features, graph)[nodes].argmax(1)
    return float((guess == task.labels[nodes]).double().mean())
