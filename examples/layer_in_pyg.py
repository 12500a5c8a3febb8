"""The layer inside a torch_geometric model: a linear map, then ten elastic steps."""

import torch
from torch import nn
from torch_geometric.nn import Sequential

from elasticgnn.data import load
from elasticgnn.nn import EMP

data = load("cora").to_pyg()
model = Sequential(
    "x, edge_index",
    [
        (nn.Linear(data.num_features, 7), "x -> x"),
        (EMP(K=10, lambda1=3.0, lambda2=3.0, norm="l21"), "x, edge_index -> x"),
    ],
)
logits = model(data.x, data.edge_index)
logits.square().mean().backward()
print(tuple(logits.shape), "gradient", tuple(next(model.parameters()).grad.shape))
assert torch.isfinite(logits).all()
