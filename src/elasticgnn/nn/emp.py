"""Elastic message passing as a layer, with torch_geometric's conventions."""

import math
from collections.abc import Callable, MutableMapping

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from elasticgnn.graph import Graph
from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty


class EMP(nn.Module):
    """Smooths node rows (n, d) over a graph by K elastic steps.

    Minimises sum_e w_e (lambda1 |delta_e| + lambda2/2 |delta_e|^2) + 1/2 |F - X|^2 step by step.
    The graph is a `Graph`, an edge_index (2, E) with both directions, or a torch sparse matrix.
    With `learnable=True` lambda1 and lambda2 are trained and stay positive; `dropout` drops edges
    while training, both directions together, without rescaling.
    """

    def __init__(
        self,
        K: int = 10,
        lambda1: float = 3.0,
        lambda2: float = 3.0,
        norm: str = "l21",
        learnable: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        if learnable and not (0 < lambda1 < math.inf and 0 < lambda2 < math.inf):
            raise ValueError(
                f"lambda1, lambda2 must be > 0 to be learnable, got {lambda1, lambda2}"
            )
        self.K = K
        self.initial = ElasticPenalty(lambda1, lambda2, norm)
        self.learnable = learnable
        self.dropout = dropout
        if learnable:
            self.log_lambda = nn.Parameter(torch.empty(2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Learnable strengths back to what the layer was built with."""
        if self.learnable:
            with torch.no_grad():
                self.log_lambda.copy_(torch.tensor(self.initial.strengths).log())

    @property
    def penalty(self) -> ElasticPenalty:
        if not self.learnable:
            return self.initial
        lambda1, lambda2 = self.log_lambda.exp()
        return ElasticPenalty(lambda1, lambda2, self.initial.norm, self.initial.concavity)

    def forward(
        self, x: Tensor, edge_index: Graph | Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        graph = as_graph(edge_index, len(x), edge_weight)
        if self.training and self.dropout > 0:
            kept = torch.rand(graph.num_edges, device=x.device) >= self.dropout
            graph = graph.with_weight(graph.weight * kept)
        return elastic_message_passing(x, graph, self.penalty, self.K)

    def extra_repr(self) -> str:
        lambda1, lambda2 = self.penalty.strengths
        return (
            f"K={self.K}, lambda1={lambda1:g}, lambda2={lambda2:g}, "
            f"norm={self.initial.norm!r}, learnable={self.learnable}, dropout={self.dropout:g}"
        )


def as_graph(graph: Graph | Tensor, num_nodes: int, edge_weight: Tensor | None = None) -> Graph:
    """The `Graph` of any form of graph input; one already built from the same tensor is reused."""
    if isinstance(graph, Graph):
        return graph if edge_weight is None else graph.with_weight(edge_weight)
    if graph.layout != torch.strided:
        if edge_weight is not None:
            raise ValueError("edge_weight must be None with a sparse matrix, which has its own")
        return _reused(graph, Graph.from_torch_sparse)
    if edge_weight is not None:
        return Graph.from_edge_index(graph, num_nodes, edge_weight)
    return _reused(graph, lambda index: Graph.from_edge_index(index, num_nodes), num_nodes)


# The last graphs built, by the identity and version of the tensor they came from: an entry dies
# with its tensor, and a tensor changed in place no longer matches.
_built: MutableMapping[Tensor, tuple[int, int, Graph]] = WeakTensorKeyDictionary()


def _reused(source: Tensor, build: Callable[[Tensor], Graph], num_nodes: int = -1) -> Graph:
    if source.requires_grad or torch.compiler.is_compiling() or source.is_inference():
        return build(source)
    known = _built.get(source)
    if known is not None and known[:2] == (source._version, num_nodes):
        return known[2]
    graph = build(source)
    _built[source] = (source._version, num_nodes, graph)
    return graph
