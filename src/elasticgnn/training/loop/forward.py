"""How a model is called: the library's own, torch_geometric's, and any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from elasticgnn.features import DropoutNoise, SparseFeatures
from elasticgnn.graph import Graph
from elasticgnn.nn.edges import edge_list

Forward = Callable[[DropoutNoise | None], Tensor]


def forward_on(model: nn.Module, features: Tensor | SparseFeatures, graph: Graph) -> Forward:
    """A function of the dropout's noise that gives the model's logits (n, classes).

    A model that takes `noise` is called as (features, graph, noise=...), its graph prepared once
    if it can. All others get dense features: those whose second argument is `edge_index` (and
    torch_geometric's Sequential) with the edges of both directions, the rest with the Graph.
    """
    parameters = inspect.signature(model.forward).parameters
    if "noise" in parameters:
        prepare = getattr(model, "prepare", None)
        ready: Any = graph if prepare is None else prepare(graph)
        return lambda noise: model(features, ready, noise=noise)
    dense = features.to_dense() if isinstance(features, SparseFeatures) else features
    if "edge_index" not in parameters and not takes_anything(parameters.values()):
        return lambda noise: model(dense, graph)
    index, weight = edge_list(graph, None, dense)
    asked = parameters.get("edge_weight")
    if weight is None and asked is not None and asked.default is asked.empty:
        weight = dense.new_ones(index.shape[1])  # a model that cannot do without
    if weight is None or "edge_weight" not in parameters:
        return lambda noise: model(dense, index)
    return lambda noise: model(dense, index, edge_weight=weight)


def takes_anything(parameters: Any) -> bool:
    """Whether the signature ends in *args."""
    return any(parameter.kind == parameter.VAR_POSITIONAL for parameter in parameters)
