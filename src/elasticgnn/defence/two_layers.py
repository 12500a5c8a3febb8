"""What two-layer defences share: features in, two weighted aggregations, logits out."""

import torch
from torch import Tensor, nn

from elasticgnn.attack.many_graphs import Predictor, flip_tables
from elasticgnn.data import NodeTask
from elasticgnn.features import SparseFeatures
from elasticgnn.features.dropout import DropoutNoise
from elasticgnn.graph import Graph
from elasticgnn.nn.feature_linear import FeatureLinear
from elasticgnn.nn.graph_input import as_graph
from elasticgnn.nn.mlp import noise_in_use
from elasticgnn.operator.flipped_defences import MixedLayers, layers_on_flipped


class TwoLayers(nn.Module):
    """aggregate(relu(aggregate(x W1)) W2); a subclass says how neighbours are aggregated."""

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.first = FeatureLinear(in_channels, hidden_channels, glorot=True)
        self.second = nn.Linear(hidden_channels, out_channels)
        self.dropout = dropout

    def aggregate(self, rows: Tensor, graph: Graph) -> Tensor:
        """Rows (n, d) mixed with their neighbours'; differentiable in the graph's weights."""
        raise NotImplementedError

    def cleaned(self, graph: Graph) -> Graph:
        """The graph that the layers see."""
        return graph

    def forward(
        self,
        x: Tensor | SparseFeatures,
        graph: Graph | Tensor,
        edge_weight: Tensor | None = None,
        *,
        noise: DropoutNoise | None = None,
    ) -> Tensor:
        """Logits (n, out)."""
        noise = noise_in_use(self, noise)
        hidden: Tensor = self.first(x, noise, self.dropout)
        seen = self.cleaned(as_graph(graph, len(hidden), edge_weight))
        hidden = torch.relu(self.aggregate(hidden, seen))
        if noise is not None:
            hidden = noise(hidden, self.dropout, 1)
        return self.aggregate(self.second(hidden), seen)

    def mixing(self) -> tuple[str, float]:
        """How the compiled loops call what `aggregate` does, with its number."""
        raise NotImplementedError

    @torch.no_grad()
    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """Labels on many flipped graphs by the compiled loops, None where they do not serve."""
        tables, x = flip_tables(task), self.first(task.features)
        if tables is None or x.dtype != torch.float32:
            return None
        weight = self.second.weight.detach().T
        layers = MixedLayers(x, weight, self.second.bias.detach(), *self.mixing())
        return lambda flips: layers_on_flipped(layers, tables, flips).label


def both_directions(graph: Graph, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Receiver, sender and weight of every edge in both directions, self-loops at the end."""
    weight, _ = graph.cast(dtype)
    every = torch.arange(graph.num_nodes)
    to = torch.cat((graph.tail, graph.head, every))
    sender = torch.cat((graph.head, graph.tail, every))
    return to, sender, torch.cat((weight, weight, weight.new_ones(graph.num_nodes)))
