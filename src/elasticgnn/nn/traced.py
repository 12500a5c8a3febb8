"""The layer inside torch.compile, torch.export, torch.jit.trace and torch.vmap over edge lists.

No size depends on the data.

Every column of the list is an edge of half its weight. The two columns of an edge have equal
differences and so equal duals, and add up to what the merged edge does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from elasticgnn.graph import Graph
from elasticgnn.graph.checks import check_edge_index, check_num_nodes, check_weight
from elasticgnn.graph.once import all_numbers, is_compiling, is_wrapped
from elasticgnn.kernels.transforms import is_many
from elasticgnn.nn.reading import Reading
from elasticgnn.nn.scriptable import incidence
from elasticgnn.operator.reference import Incidence
from elasticgnn.operator.request import is_recorded
from elasticgnn.problem import ElasticPenalty
from elasticgnn.problem.step_sizes import StepSizes, step_sizes


def refuse_untraceable(
    edge_index: Any,
    weight: Tensor | None,
    strength: Tensor | None,
    reading: Reading,
    dropout: float,
) -> None:
    """Refuses what has no plain version without a look at values."""
    is_graph = isinstance(edge_index, Graph)
    scaled = is_graph or reading.normalization == "degree"
    if not scaled or not (is_graph or edge_index.layout == torch.strided):
        raise NotImplementedError(
            "inside torch.compile, torch.export, make_fx and torch.jit.trace, and where torch.vmap "
            "batches the edges, EMP takes an edge_index with degree normalization"
        )
    plain = reading.directed == "error" and dropout == 0 and strength is None
    if is_recorded() and not (plain and not (is_graph and weight is not None)):
        raise NotImplementedError(
            "inside torch.jit.trace EMP takes both directions of every edge, no dropout of "
            "edges and no strength per edge; torch.compile and torch.export take them"
        )


def incidence_of(
    edge_index: Graph | Tensor,
    edge_weight: Tensor | None,
    x: Tensor,
    *,
    directed: str = "error",
    dropout: float = 0.0,
) -> Incidence:
    """Both ends, halved weights and scales of the columns; x (n, R, d) gives nodes and dtype.

    That both directions are there with equal weights is asserted when the code runs, unless
    directed="symmetrize" gives an edge the mean over the directions that are there.
    """
    if isinstance(edge_index, Graph):
        return _incidence_of_graph(edge_index, edge_weight, x, dropout)
    if is_recorded():  # a compiled function keeps its refusal in the record
        return Incidence(*_scripted_incidence()(x[:, 0], edge_index, edge_weight))
    if has_many_lists(edge_index):
        check_edge_index(edge_index)
        check_num_nodes(x.shape[0], all_numbers(edge_index))
    source, target = edge_index[0].long(), edge_index[1].long()
    weight = x.new_ones(edge_index.shape[1]) if edge_weight is None else edge_weight.to(x.dtype)
    weight = torch.where(source == target, 0.0, weight)
    if directed == "error":
        _assert_symmetric(source, target, weight, x.shape[0])
        share = weight / 2
    else:
        share = weight / _num_directions(source, target, x.shape[0])
    tail, head = torch.minimum(source, target), torch.maximum(source, target)
    if dropout > 0:
        share = share * (torch.rand_like(share) >= dropout)[edge_numbers(tail, head, x.shape[0])]
    return Incidence(tail, head, share, _scale(x, tail, head, share))


def _incidence_of_graph(
    graph: Graph, edge_weight: Tensor | None, x: Tensor, dropout: float
) -> Incidence:
    tail, head = graph._tail, graph._head
    weight, scale = graph._cast(x.dtype)
    if edge_weight is None and dropout == 0 and not is_compiling():
        return Incidence(tail, head, weight, scale)
    weight = weight if edge_weight is None else edge_weight.to(x.dtype)
    if dropout > 0:
        weight = weight * (torch.rand_like(weight) >= dropout)
    # torch.compile cannot ask the shape of what a graph remembers: the scales are made anew
    if graph.normalization == "degree":
        return Incidence(tail, head, weight, _scale(x, tail, head, weight))
    return Incidence(tail, head, weight, x.new_ones(x.shape[0]))


def _scale(x: Tensor, tail: Tensor, head: Tensor, weight: Tensor) -> Tensor:
    """1/sqrt(1 + sum of a node's weights): (n,), added up in float64 as a Graph does it."""
    weight = weight.double()
    degree = weight.new_ones(x.shape[0]).index_add(0, tail, weight).index_add(0, head, weight)
    return degree.rsqrt().to(x.dtype)


def traced_strength(
    values: Tensor | None, graph: Graph | Tensor, edges: Incidence
) -> Tensor | None:
    """A strength for each edge of `edges`: as given with a Graph, else the mean of its columns."""
    if values is None:
        return None
    count = graph.num_edges if isinstance(graph, Graph) else graph.shape[1]
    check_weight(values, count, "edge_strength")
    if isinstance(graph, Graph):
        return values
    number = edge_numbers(edges.tail, edges.head, edges.scale.shape[0])
    total = values.new_zeros(2, count)
    total = total.index_add(1, number, torch.stack([values, torch.ones_like(values)]))
    return (total[0] / total[1].clamp(min=1))[number]


def edge_numbers(tail: Tensor, head: Tensor, num_nodes: int) -> Tensor:
    """A number below E for every column (E,), the same for all columns of one edge."""
    ordered, order = torch.sort(tail * num_nodes + head)
    return torch.zeros_like(order).scatter(0, order, _rank(ordered))


def _num_directions(source: Tensor, target: Tensor, num_nodes: int) -> Tensor:
    """1 or 2 for every column: whether its edge has columns in the other direction too."""
    along, _ = torch.sort(source * num_nodes + target)
    reverse = target * num_nodes + source
    place = torch.searchsorted(along, reverse).clamp(max=max(along.shape[0] - 1, 0))
    return 1 + (along[place] == reverse).long() if along.shape[0] else torch.ones_like(source)


@cache
def _scripted_incidence() -> Any:
    return torch.jit.script(incidence)


def _assert_symmetric(source: Tensor, target: Tensor, weight: Tensor, num_nodes: int) -> None:
    """One number per direction and edge, sorted, must be the same list both ways."""
    along, there = torch.sort(source * num_nodes + target)
    against, back = torch.sort(target * num_nodes + source)
    weight = weight.detach()
    sums = [
        torch.zeros_like(weight).index_add(0, _rank(k), weight[o])
        for k, o in ((along, there), (against, back))
    ]
    close = (sums[0] - sums[1]).abs() <= 1e-8 + 1e-5 * sums[1].abs()
    same = (along == against).all() & close.all()
    torch._assert_async(
        all_numbers(same).all(), "edge_index must hold both directions with equal weights"
    )


def has_many_lists(edge_index: Graph | Tensor) -> bool:
    """Whether torch.vmap hands another edge list to every member."""
    if not isinstance(edge_index, Tensor) or torch.compiler.is_compiling():
        return False
    while is_wrapped(edge_index) and not is_many(edge_index):
        edge_index = torch._C._functorch.get_unwrapped(edge_index)
    return is_many(edge_index)


def _rank(ordered: Tensor) -> Tensor:
    """The number of each entry's run of equal ones in a sorted list: parallel edges add up."""
    return torch.cat([ordered.new_zeros(1), (ordered[1:] != ordered[:-1]).long()])[
        : ordered.shape[0]
    ].cumsum(0)


def traced_sizes(
    penalty: ElasticPenalty, norm_bound: float, x: Tensor, gamma: float | None, beta: float | None
) -> StepSizes:
    """The step sizes of x (n, R, d); numbers are constants to torch.jit.trace."""
    with _not_recorded():
        runs = x.shape[1]  # a number here, a recorded tensor outside
        if not isinstance(penalty.lambda1, Tensor) and not isinstance(penalty.lambda2, Tensor):
            return step_sizes(penalty, norm_bound, x, runs, gamma=gamma, beta=beta)
    return step_sizes(penalty, norm_bound, x, runs, gamma=gamma, beta=beta)


@contextmanager
def _not_recorded() -> Iterator[None]:
    if torch.compiler.is_compiling():
        yield
        return
    record: Any = torch._C  # its setter is missing in torch's types
    state = record._get_tracing_state()
    record._set_tracing_state(None)
    try:
        yield
    finally:
        record._set_tracing_state(state)
