"""Any form of graph input as a `Graph`; one that was built from the same edges is reused."""

from collections.abc import MutableMapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from elasticgnn.graph import Graph
from elasticgnn.graph.checks import check_edge_index, check_num_nodes, check_weight
from elasticgnn.graph.convert import torch_sparse_arrays
from elasticgnn.graph.keys import edge_keys, pair_keys
from elasticgnn.graph.merge import EdgePattern, Edges, edge_pattern, merged_weight
from elasticgnn.graph.once import is_traced, lasting
from elasticgnn.nn.device_input import device_graph
from elasticgnn.nn.reading import Reading
from elasticgnn.nn.traced import has_many_lists

HALF = (torch.float16, torch.bfloat16)


def as_graph(
    graph: Any, num_nodes: int, edge_weight: Tensor | None = None, reading: Reading | None = None
) -> Graph:
    """The `Graph` of a `Graph`, an edge_index (2, E) or a torch sparse matrix.

    Reuse goes by content: an edge list is compared with the one that its graph was built from.
    """
    reading = Reading() if reading is None else reading
    (edge_weight,) = as_single(edge_weight=edge_weight)
    if isinstance(graph, Graph):
        return graph if edge_weight is None else graph.with_weight(edge_weight)
    _refuse_other_forms(graph)
    if has_many_lists(graph):
        raise ValueError(
            "edge_index must be one list for all members of torch.vmap here, got one for each; "
            "EMP without return_dual takes them"
        )
    if graph.layout != torch.strided:
        if edge_weight is not None:
            raise ValueError("edge_weight must be None with a sparse matrix, which has its own")
        index, size, weight = torch_sparse_arrays(graph)
        return _graph_of(index, size, weight, reading, owner=graph)
    return _graph_of(graph, num_nodes, edge_weight, reading, owner=graph)


def as_single(**given: Any) -> list[Tensor | None]:
    """Numbers of edges in the precision of the computation: float16 and bfloat16 in float32."""
    for name, values in given.items():
        if values is not None and not isinstance(values, Tensor):
            raise ValueError(f"{name} must be a tensor, got {type(values).__name__}")
    return [v.float() if v is not None and v.dtype in HALF else v for v in given.values()]


def _refuse_other_forms(graph: Any) -> None:
    if isinstance(graph, Tensor):
        return
    advice = "torch.tensor(edge_index) makes one"
    if hasattr(graph, "edge_index"):
        advice = "pass its edge_index, or Graph.from_pyg of it"
    elif hasattr(graph, "tocoo"):
        advice = "Graph.from_scipy makes a Graph of it"
    elif hasattr(graph, "is_directed"):
        advice = "Graph.from_networkx makes a Graph of it"
    raise ValueError(
        "edge_index must be a Graph, an integer tensor (2, E) or a torch sparse matrix, "
        f"got {type(graph).__name__}; {advice}"
    )


def merged_values(graph: Graph, edge_index: Any, values: Tensor, name: str) -> Tensor:
    """One number per edge of `graph` (m,) from one per column of its edge_index: their mean."""
    if isinstance(edge_index, Graph):
        check_weight(values, graph.num_edges, name)
        return values
    if edge_index.layout != torch.strided:
        raise ValueError(f"{name} must come with a Graph or an edge_index, got a sparse matrix")
    check_weight(values, edge_index.shape[1], name)
    low, high = edge_index.long().sort(0).values
    slot = torch.searchsorted(edge_keys(graph), pair_keys(low, high, graph.num_nodes))
    slot = torch.where(low == high, graph.num_edges, slot)  # self-loops go behind the last edge
    total = values.new_zeros(2, graph.num_edges + 1)
    total = total.index_add(1, slot, torch.stack([values, torch.ones_like(values)]))[:, :-1]
    return total[0] / total[1]


class _Known:
    """What was built from an edge list: its pattern, and the last graphs without and with weights.

    It holds a copy of the list: a tensor may change through .data or shared memory unseen.
    """

    def __init__(self, index: Tensor, num_nodes: int) -> None:
        check_edge_index(index)
        self.num_nodes = check_num_nodes(num_nodes, index)
        self.index = index.detach().clone()
        self.pattern: EdgePattern = edge_pattern(self.index, self.num_nodes)
        self.last: dict[bool, tuple[Tensor | None, Reading, Graph]] = {}  # by: has weights

    def fits(self, index: Tensor, num_nodes: int) -> bool:
        return self.num_nodes == num_nodes and torch.equal(self.index, index)

    def graph(self, weight: Tensor | None, reading: Reading) -> Graph:
        if weight is not None and (weight.requires_grad or is_traced()):
            return self._build(weight, reading)
        kept, how, graph = self.last.get(weight is not None, (None, None, None))
        if graph is None or how != reading or not _same(kept, weight):
            graph = self._build(weight, reading)
            copied = None if weight is None else weight.detach().clone()
            self.last[weight is not None] = copied, reading, graph
        return graph

    def _build(self, weight: Tensor | None, reading: Reading) -> Graph:
        if weight is not None:
            check_weight(weight, self.index.shape[1])
        merged = merged_weight(self.pattern, weight, directed=reading.directed)
        unit = weight is None and self.pattern.is_simple
        if not (unit or merged.requires_grad or is_traced()):
            unit = bool((merged == 1).all())
        edges = Edges(self.pattern.tail, self.pattern.head, merged)
        return Graph(edges, self.num_nodes, normalization=reading.normalization, unit=unit)


def _same(kept: Tensor | None, weight: Tensor | None) -> bool:
    if kept is None or weight is None:
        return kept is weight
    return kept.dtype == weight.dtype and torch.equal(kept, weight)


# By the identity of the tensor that holds the edges: an entry dies with it.
_built: MutableMapping[Tensor, _Known] = WeakTensorKeyDictionary()


def _graph_of(
    index: Tensor, num_nodes: int, weight: Tensor | None, reading: Reading, owner: Tensor
) -> Graph:
    if not (index.is_cpu or index.is_meta):
        check_edge_index(index)
        return device_graph(index, num_nodes, weight, reading, owner)
    if is_traced() or owner.is_inference():
        return _Known(index, num_nodes).graph(weight, reading)
    known = _built.get(owner)
    if known is None or not known.fits(index, num_nodes):
        with lasting():
            known = _Known(index, num_nodes)
        _built[owner] = known
    with nullcontext() if weight is not None and weight.requires_grad else lasting():
        return known.graph(weight, reading)
