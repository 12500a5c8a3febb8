"""The model under attack, as gradient attacks see it: a loss of the graph."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from elasticgnn.attack.losses import find_loss
from elasticgnn.data import NodeTask, Split
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.training.loop.forward import forward_on


@dataclass(frozen=True)
class Retraining:
    """How a poisoned victim follows the attack: steps of Adam on the current graph.

    Alternating these with the attacker's steps is the min-max attack of Xu et al. (2019).

    >>> from elasticgnn.attack import Retraining
    >>> Retraining(steps=3).learning_rate
    0.01
    """

    steps: int = 5
    learning_rate: float = 0.01
    weight_decay: float = 5e-4

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"steps must be >= 1, got {self.steps}")


def call_model(model: nn.Module, features: Tensor | SparseFeatures, graph: Graph) -> Tensor:
    """Logits (n, c), differentiable in the graph's weights where the model is.

    The library's own models take the graph itself; others what `forward_on` hands them.
    """
    if "noise" in inspect.signature(model.forward).parameters:
        logits: Tensor = model(features, graph)
        return logits
    return forward_on(model, features, graph)(None)


class Victim:
    """A model with the nodes the attacker aims at; its weights are fixed unless it retrains."""

    def __init__(
        self,
        model: nn.Module,
        task: NodeTask,
        nodes: Tensor,
        *,
        loss: str = "tanh_margin",
        labels: Tensor | None = None,
    ) -> None:
        self.model = model
        self.task = task
        self.nodes = nodes
        self.node_loss = find_loss(loss)
        self.labels = (task.labels if labels is None else labels)[nodes]
        if len(nodes) == 0 or bool((self.labels < 0).any()):
            raise ValueError("targets must be nodes of known class, got others or none")

    def logits(self, graph: Graph) -> Tensor:
        """(n, c) without dropout."""
        self.model.eval()
        return call_model(self.model, self.task.features, graph)

    def loss(self, graph: Graph) -> Tensor:
        """Mean loss over the attacked nodes: what the attacker raises."""
        return self.node_loss(self.logits(graph)[self.nodes], self.labels).mean()

    @torch.no_grad()
    def accuracy(self, graph: Graph) -> float:
        """Share of the attacked nodes classified correctly."""
        guess = self.logits(graph)[self.nodes].argmax(1)
        return float((guess == self.labels).double().mean())

    def follow(self, split: Split, plan: Retraining) -> Callable[[Graph], None]:
        """A function that trains the model further on the graph it is given."""
        weights = [p for p in self.model.parameters() if p.requires_grad]
        adam = torch.optim.Adam(weights, lr=plan.learning_rate, weight_decay=plan.weight_decay)

        def retrain(graph: Graph) -> None:
            fixed = graph.with_weight(graph.weight.detach())
            for _ in range(plan.steps):
                adam.zero_grad()
                logits = self.logits(fixed)[split.train]
                loss = nn.functional.cross_entropy(logits, self.task.labels[split.train])
                torch.autograd.backward(loss)
                adam.step()

        return retrain


class NoEdgeGradientError(ValueError):
    """The victim's loss has no gradient in the edges, which a gradient attack would follow.

    Or one that is not a number: no step could be taken, and the victim would look safe.
    """


def loss_and_gradient(victim: Victim, graph: Graph, leaf: Tensor) -> tuple[float, Tensor]:
    """The victim's loss on `graph` and its derivative in the `leaf` the weights were made from.

    The victim's own weights keep no gradient.
    """
    loss = victim.loss(graph)
    (gradient,) = torch.autograd.grad(loss, leaf, allow_unused=True) if loss.grad_fn else (None,)
    if gradient is None:
        raise NoEdgeGradientError(
            "victim must hand back a gradient of its edges to be attacked, got none: it uses no "
            "edge, or its gradient is cut off (eva needs none)"
        )
    if bool(gradient.isnan().any()):
        raise NoEdgeGradientError(
            "victim must have a gradient of numbers to be attacked, got NaN in it"
        )
    return float(loss.detach()), gradient
