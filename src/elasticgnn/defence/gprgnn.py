"""GPRGNN (Chien et al. 2021), and training against an attacker (Gosch et al. 2023)."""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from elasticgnn.attack import AttackBudget, GradientSettings, attack
from elasticgnn.attack.many_graphs import Predictor, flip_tables
from elasticgnn.data import NodeTask, Split
from elasticgnn.features import DropoutNoise
from elasticgnn.features.dropout import draw_seed
from elasticgnn.graph import Graph
from elasticgnn.nn.graph_input import as_graph
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated
from elasticgnn.operator.flipped_defences import polynomial_on_flipped
from elasticgnn.training import TrainingPlan


class GPRGNN(Propagated):
    """sum_k g_k S^k MLP(x), S = D^-1/2 (A + I) D^-1/2, with weights g_0 .. g_K that are trained.

    They start as personalised PageRank's: alpha (1 - alpha)^k, the rest at k = K.

    >>> from elasticgnn.defence import GPRGNN
    >>> GPRGNN(16, 8, 2, K=3).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        K: int = 10,
        alpha: float = 0.1,
    ) -> None:
        super().__init__()
        self.backbone: MLP = MLP(in_channels, hidden_channels, out_channels, dropout=dropout)
        start = alpha * (1 - alpha) ** torch.arange(K + 1.0)
        start[-1] = (1 - alpha) ** K
        self.mix = nn.Parameter(start)

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """sum_k mix_k A^k logits (n, c), A the normalised adjacency with its loops."""
        graph = as_graph(graph, len(logits), edge_weight)
        reached = logits
        total = self.mix[0] * logits
        for share in self.mix[1:]:
            reached = graph.smooth(reached)
            total = total + share * reached
        return total

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """Labels on many flipped graphs by the compiled loops, None where they do not serve."""
        tables, x, mix = flip_tables(task), self.logits(task.features), self.mix.detach()
        if tables is None or x.dtype != torch.float32:
            return None
        return lambda flips: polynomial_on_flipped(x, tables, mix, flips).label


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
