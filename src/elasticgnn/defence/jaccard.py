"""GCN on a cleaned graph (Wu et al. 2019): edges between nodes that share no word are left out."""

import numpy as np
import torch
from torch import Tensor

from elasticgnn.attack.many_graphs import Predictor
from elasticgnn.data import NodeTask
from elasticgnn.defence.two_layers import TwoLayers
from elasticgnn.features import SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.operator.flipped_defences import among

MOST_NODES = 20_000  # the similar pairs are kept as an n x n table of bits


class Jaccard(TwoLayers):
    """A GCN that ignores edges whose ends' features overlap by less than `least`.

    The overlap is Jaccard's: common non-zero features over features of either, in [0, 1]. It is
    made for the features given; predictions for other nodes need another model.

    >>> from elasticgnn.defence import Jaccard
    >>> Jaccard(task.features, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    similar: Tensor

    def __init__(
        self,
        features: Tensor | SparseFeatures,
        hidden_channels: int,
        out_channels: int,
        dropout: float = 0.5,
        least: float = 0.01,
    ) -> None:
        super().__init__(int(features.shape[1]), hidden_channels, out_channels, dropout)
        if features.shape[0] > MOST_NODES:
            raise ValueError(f"features must have at most {MOST_NODES} rows for this defence")
        self.least = least
        self.register_buffer("similar", torch.zeros(0, 0, dtype=torch.bool), persistent=False)
        self.compare(features)

    def compare(self, features: Tensor | SparseFeatures) -> None:
        """Takes the nodes for as alike as these features are."""
        self.similar = overlap(features) >= self.least

    def cleaned(self, graph: Graph) -> Graph:
        """The graph without the edges whose ends share too few features."""
        keep = self.similar[graph.tail, graph.head]
        return graph.with_weight(graph.weight * keep)

    def aggregate(self, rows: Tensor, graph: Graph) -> Tensor:
        """A rows (n, d), A the normalised adjacency of the cleaned graph."""
        return graph.smooth(rows)

    def mixing(self) -> tuple[str, float]:
        """As a GCN."""
        return "mean", 0.0

    def predict_flipped(self, task: NodeTask) -> Predictor | None:
        """As the others, on the cleaned graph: pairs that it would leave out change nothing."""
        graph = task.graph
        gone = ~self.similar[graph.tail, graph.head]
        pairs = torch.stack((graph.tail[gone], graph.head[gone]), 1)
        predict = super().predict_flipped(task.with_graph(graph.with_edges_flipped(pairs)))
        return None if predict is None else lambda flips: predict(among(flips, self.similar))


def overlap(features: Tensor | SparseFeatures) -> Tensor:
    """(n, n): common non-zero features over features of either; 0 where neither has any."""
    dense = features.to_dense() if isinstance(features, SparseFeatures) else features
    used = (dense != 0).float().numpy()
    common = used @ used.T
    size = used.sum(1)
    either = size[:, None] + size - common
    share = np.divide(common, either, out=np.zeros_like(common), where=either > 0)
    return torch.from_numpy(share)
