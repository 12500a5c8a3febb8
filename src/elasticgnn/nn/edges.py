"""Graph input of every form as the edge list that torch_geometric's layers take."""

import torch
from torch import Tensor, nn

from elasticgnn.graph import Graph


def edge_list(
    graph: Graph | Tensor, edge_weight: Tensor | None, like: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Both directions (2, E) and their weights in the dtype of `like`, None when all are 1."""
    if isinstance(graph, Graph):
        if edge_weight is not None:
            graph = graph.with_weight(edge_weight)
        index, weight = graph.to_edge_index()
        return index, None if graph.is_unweighted else weight.to(like.dtype)
    if graph.layout != torch.strided:
        return edge_list(Graph.from_torch_sparse(graph), edge_weight, like)
    return graph, edge_weight


class NoLinear(nn.Module):
    """Takes the place of a layer's linear map that was applied to sparse features already."""

    def reset_parameters(self) -> None:
        """Nothing to reset."""

    def forward(self, x: Tensor) -> Tensor:
        """x itself."""
        return x
