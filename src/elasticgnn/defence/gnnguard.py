"""GNNGuard (Zhang & Zitnik 2020): neighbours count by how alike their hidden rows are."""

import torch
from torch import Tensor

from elasticgnn.defence.two_layers import TwoLayers, both_directions
from elasticgnn.graph import Graph


class GNNGuard(TwoLayers):
    """Weights exp(a_ij) with a_ij the cosine of rows, cut below `least`, summing to 1 per node.

    A node itself has a_ii = 1 / (1 + number of neighbours left), as the authors have it. Without
    the memory between layers, which changes little in two of them.

    >>> from elasticgnn.defence import GNNGuard
    >>> GNNGuard(16, 8, 2).eval()(task.features, task.graph).shape
    torch.Size([60, 2])
    """

    least = 0.1

    def aggregate(self, rows: Tensor, graph: Graph) -> Tensor:
        """Rows (n, d) averaged over neighbours whose rows are alike, weighted by how much."""
        to, sender, weight = both_directions(graph, rows.dtype)
        m = graph.num_edges
        unit = torch.nn.functional.normalize(rows, dim=1)
        alike = (unit[graph.tail] * unit[graph.head]).sum(1)
        kept = torch.where(alike >= self.least, alike, torch.zeros_like(alike)) * weight[:m]
        total = rows.new_zeros(len(rows)).index_add(0, graph.tail, kept)
        total = total.index_add(0, graph.head, kept).clamp(min=1e-12)
        count = rows.new_zeros(len(rows))
        live = (kept > 0).to(rows.dtype) * weight[:m]
        count = count.index_add(0, graph.tail, live).index_add(0, graph.head, live)
        share = torch.cat((kept / total[graph.tail], kept / total[graph.head], 1 / (1 + count)))
        live = torch.cat((live, live, torch.ones_like(count)))
        attention = live * share.exp()
        norm = rows.new_zeros(len(rows)).index_add(0, to, attention)
        mixed = torch.zeros_like(rows).index_add(0, to, attention[:, None] * rows[sender])
        return mixed / norm[:, None]

    def mixing(self) -> tuple[str, float]:
        """By the cosine of rows, from `least` on."""
        return "guard", self.least
