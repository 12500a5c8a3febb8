"""A module that cannot do without edge weights gets ones on an unweighted graph."""

import torch
from torch import nn

from attack.small_task import planted_task
from elasticgnn.training.loop.forward import forward_on


class Needy(nn.Module):
    def forward(self, x, edge_index, edge_weight):
        return x.index_add(0, edge_index[1], edge_weight[:, None] * x[edge_index[0]])


def test_a_required_edge_weight_is_ones():
    task = planted_task()
    x = task.features.to_dense()
    got = forward_on(Needy(), task.features, task.graph)(None)
    wanted = x.clone()
    for one, other in zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True):
        wanted[one] += x[other]
        wanted[other] += x[one]
    torch.testing.assert_close(got, wanted)
