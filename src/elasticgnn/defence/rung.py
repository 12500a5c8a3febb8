"""RUNG (Hou et al. 2024): an MLP, then K quasi-Newton steps of reweighted least squares."""

import torch
from torch import Tensor

from elasticgnn.attack.many_graphs import Predictor, flip_tables
from elasticgnn.data import NodeTask
from elasticgnn.graph import Graph
from elasticgnn.nn.graph_input import as_graph
from elasticgnn.nn.mlp import MLP
from elasticgnn.nn.propagated import Propagated
from elasticgnn.operator.flipped_defences import NORMS, Reweighting, reweighted_on_flipped

SMALLEST = 0.01  # added to the squared difference under the root


class RUNG(Propagated):
    """F_i <- (sum_j W_ij A~_ij F_j + lambda F0_i) / (q_i + lambda), q_i = sum_j W_ij A_ij / d_i.

    W_ij = d rho / d(y^2) at y_ij = |f_i/sqrt(d_i) - f_j/sqrt(d_j)|: with z = sqrt(y^2 + 0.01) it is
    max(0, 1/(2z) - 1/(2 gamma)) for "mcp", 1/(2z) for "l1", 1 for "l2"; d_i counts a self-loop.
    Its published code can be read in two ways. `double_root`: z is the root of that, so that edges
    are cut from y = gamma^2 on instead of gamma. `detached`: no gradient goes through W.

    >>> from elasticgnn.defence import RUNG
    >>> RUNG(16, 8, 2, K=3).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        K: int = 10,
        gamma: float = 6.0,
        lambda_hat: float = 0.9,
        norm: str = "mcp",
        double_root: bool = False,
        detached: bool = False,
    ) -> None:
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {NORMS}, got {norm!r}")
        if not gamma > 0 or not 0 < lambda_hat <= 1:
            raise ValueError(f"gamma must be > 0, lambda_hat in (0, 1], got {gamma}, {lambda_hat}")
        self.backbone: MLP = MLP(in_channels, hidden_channels, out_channels, dropout=dropout)
        self.K, self.gamma, self.norm = K, gamma, norm
        self.fidelity = 1 / lambda_hat - 1
        self.double_root, self.detached = double_root, detached

    def weight_of(self, square: Tensor) -> Tensor:
        """W (m,) of squared differences."""
        if self.norm == "l2":
            return torch.ones_like(square)
        z = (square + SMALLEST).sqrt()
        z = z.sqrt() if self.double_root else z
        weight = 1 / (2 * z)
        return weight if self.norm == "l1" else (weight - 1 / (2 * self.gamma)).clamp(min=0)

    def smooth(self, logits: Tensor, graph: Graph | Tensor, edge_weight: Tensor | None) -> Tensor:
        """K reweighted steps on the logits (n, c)."""
        graph = as_graph(graph, len(logits), edge_weight)
        weight, scale = graph.cast(logits.dtype)
        signal = logits
        for _ in range(self.K):
            signal = self.step(logits, signal, graph, weight, scale)
        return signal

    def step(
        self, logits: Tensor, signal: Tensor, graph: Graph, weight: Tensor, scale: Tensor
    ) -> Tensor:
        """One step: edges across a large difference count less."""
        scaled = scale[:, None] * signal
        tail, head = scaled[graph.tail], scaled[graph.head]
        square = (tail - head).square().sum(1)
        strength = weight * self.weight_of(square.detach() if self.detached else square)
        received = torch.zeros_like(signal)
        received = received.index_add(0, graph.tail, strength[:, None] * head)
        received = received.index_add(0, graph.head, strength[:, None] * tail)
        total = torch.zeros_like(scale)
        total = total.index_add(0, graph.tail, strength).index_add(0, graph.head, strength)
        q = scale.square() * total
        return (scale[:, None] * received + self.fidelity * logits) / (q + self.fidelity)[:, None]

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """Labels on many flipped graphs by the compiled loops, None where they do not serve."""
        tables, x = flip_tables(task), self.logits(task.features)
        if tables is None or x.dtype != torch.float32:
            return None
        cut = 1 / (2 * self.gamma)
        settings = Reweighting(self.norm, self.fidelity, cut, SMALLEST, self.double_root, self.K)
        return lambda flips: reweighted_on_flipped(x, tables, settings, flips).label
