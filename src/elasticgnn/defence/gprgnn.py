"""GPRGNN (Chien et al. 2021)."""

import torch
from torch import Tensor, nn

from elasticgnn.attack.many_graphs import Predictor, flip_tables
from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.nn.graph_input import as_graph
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated
from elasticgnn.operator.flipped_defences import polynomial_on_flipped


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
