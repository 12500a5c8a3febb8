"""Soft-Median (Geisler et al. 2021): neighbours count by how near they are to the median."""

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor

from elasticgnn.defence.two_layers import TwoLayers, both_directions
from elasticgnn.graph import Graph


class SoftMedian(TwoLayers):
    """Weights softmax(-|x_j - median_i| / (T sqrt(d))) times the edge's, scaled to a GCN's sum.

    median_i is the weighted median of each column over node i and its neighbours. The lower T, the
    more the mean becomes the row nearest to the median.

    >>> from elasticgnn.defence import SoftMedian
    >>> SoftMedian(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    temperature = 0.2

    def aggregate(self, rows: Tensor, graph: Graph) -> Tensor:
        """Rows (n, d) averaged over neighbours by nearness to their weighted median."""
        to, sender, weight = both_directions(graph, rows.dtype)
        _, scale = graph.cast(rows.dtype)
        strength = weight * scale[to] * scale[sender]
        with torch.no_grad():
            median = weighted_median(rows, to, sender, strength.detach())
        far = (rows[sender] - median[to]).square().sum(1).clamp(min=1e-12).sqrt()
        soft = strength * torch.exp(-far / (self.temperature * rows.shape[1] ** 0.5))
        zeros = rows.new_zeros(len(rows))
        total = zeros.index_add(0, to, strength)
        norm = zeros.index_add(0, to, soft).clamp(min=1e-12)
        mixed = torch.zeros_like(rows).index_add(0, to, soft[:, None] * rows[sender])
        return mixed * (total / norm)[:, None]

    def mixing(self) -> tuple[str, float]:
        """By nearness to the weighted median."""
        return "median", self.temperature


def weighted_median(rows: Tensor, to: Tensor, sender: Tensor, strength: Tensor) -> Tensor:
    """(n, d): per node and column the first value at which half of the weight is reached.

    Nodes are sorted by each column, not edges: turning the matrix of senders in that order over
    into one of receivers leaves every receiver's senders ascending, in time linear in the edges.
    """
    size = len(rows)
    ends = (sender.numpy(), to.numpy())
    sent = csr_array((strength.double().numpy(), ends), shape=(size, size))
    median = torch.empty_like(rows)
    half = rows.new_zeros(size).index_add(0, to, strength).double().numpy() / 2
    for column, value in enumerate(rows.detach().T.numpy()):
        order = np.argsort(value, kind="stable")
        received = sent[order].tocsc()
        reached = np.concatenate(([0.0], np.cumsum(received.data)))
        before = reached[received.indptr[:-1]]
        place = np.searchsorted(reached[1:], before + half * (1 - 1e-6))
        middle = received.indices[np.minimum(place, received.indptr[1:] - 1)]
        median[:, column] = torch.from_numpy(value[order[middle]])
    return median
