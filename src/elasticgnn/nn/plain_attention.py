"""Attention of nodes to their neighbours in plain torch, and who attends to whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from elasticgnn.graph import Graph

NEGATIVE_SLOPE = 0.2  # the compiled loops know no other


@dataclass(frozen=True, eq=False)
class AttentionPattern:
    """Who looks at whom: node i at column[start[i]:start[i + 1]], itself among them.

    Symmetric: who looks at i is whom i looks at. That lets gradients be gathered.
    """

    start: Tensor
    column: Tensor

    @classmethod
    def of(cls, graph: Graph) -> AttentionPattern:
        """A graph's edges in both directions, whatever their weights, and self-loops."""
        nodes = torch.arange(graph.num_nodes, device=graph.device)
        rows, columns = torch.cat([graph.to_edge_index()[0], nodes.expand(2, -1)], 1)
        order = (rows * graph.num_nodes + columns).argsort()
        start = rows.new_zeros(graph.num_nodes + 1)
        start[1:] = rows.bincount(minlength=graph.num_nodes).cumsum(0)
        return cls(start, columns[order].int())

    @property
    def row(self) -> Tensor:
        """The looking node of each slot."""
        nodes = torch.arange(len(self.start) - 1, device=self.start.device)
        return nodes.repeat_interleave(self.start.diff(), output_size=len(self.column))

    @cached_property
    def transposed(self) -> Tensor:
        """For slot (i, j) the slot (j, i): sorted by column, symmetric slots are the transposed."""
        return self.column.argsort(stable=True)


def attend_plainly(
    rows: Tensor,
    target: Tensor,
    source: Tensor,
    pattern: AttentionPattern,
    factor: Tensor | None = None,
) -> Tensor:
    """What `attend` gives, in plain torch."""
    row, column = pattern.row, pattern.column.long()
    nodes, heads = target.shape
    score = leaky_relu(target[row] + source[column], NEGATIVE_SLOPE)
    slot = row[:, None].expand_as(score)
    most = torch.zeros_like(target).scatter_reduce(
        0, slot, score.detach(), "amax", include_self=False
    )
    weight = (score - most[row]).exp()
    total = torch.zeros_like(target).index_add(0, row, weight) + 1e-16
    weight = weight / total[row]
    if factor is not None:
        weight = factor * weight
    messages = weight[:, :, None] * rows.reshape(nodes, heads, -1)[column]
    return torch.zeros_like(rows).index_add(0, row, messages.flatten(1))
