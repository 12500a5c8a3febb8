"""A defence of one's own for `elasticgnn robustness --defence my_defence:MyDefence`.

Any torch module will do that is built as (in_channels, out_channels) and called with
(x, edge_index) or (x, edge_index, edge_weight). Only one that takes edge weights can be attacked by
its gradient; others meet the shipped graphs, everybody else's flips and the black box.
"""

import torch
from torch import Tensor, nn


class MyDefence(nn.Module):
    """Two layers; a node weighs each neighbour by how alike their words are."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first = nn.Linear(in_channels, 32)
        self.second = nn.Linear(32, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        words = x.to_dense() if x.is_sparse else x
        sender, receiver = edge_index
        unit = nn.functional.normalize(words, dim=1)
        alike = edge_weight * (unit[sender] * unit[receiver]).sum(1)
        hidden = torch.relu(self.mean(self.first(words), sender, receiver, alike))
        hidden = nn.functional.dropout(hidden, 0.5, self.training)
        return self.mean(self.second(hidden), sender, receiver, alike)

    @staticmethod
    def mean(rows: Tensor, sender: Tensor, receiver: Tensor, weight: Tensor) -> Tensor:
        """Rows averaged with those of the neighbours."""
        total = rows.index_add(0, receiver, weight[:, None] * rows[sender])
        norm = torch.ones(len(rows)).index_add(0, receiver, weight)
        return total / norm[:, None]


if __name__ == "__main__":
    print(MyDefence(1433, 7))
