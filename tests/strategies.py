"""Graphs and rows that Hypothesis invents, the awkward ones included."""

import torch
from hypothesis import strategies as st
from torch import Tensor

from elasticgnn import Graph

WEIGHTS = st.one_of(st.just(0.0), st.just(1.0), st.just(1e6), st.floats(1e-3, 10.0))


@st.composite
def graphs(
    draw: st.DrawFn, max_nodes: int = 9, normalizations: tuple[str, ...] = ("degree", "none")
) -> Graph:
    """No edges, one node, isolated nodes, stars, dense ones; unit weights or from 0 to 1e6."""
    num_nodes = draw(st.integers(1, max_nodes))
    pairs = [(i, j) for i in range(num_nodes) for j in range(i)]
    star = [(0, j) for j in range(1, num_nodes)]
    edges = draw(
        st.one_of(
            st.just(star),
            st.lists(st.sampled_from(pairs), unique=True) if pairs else st.just([]),
        )
    )
    weight = None
    if draw(st.booleans()):
        numbers = draw(st.lists(WEIGHTS, min_size=len(edges), max_size=len(edges)))
        weight = torch.tensor(numbers, dtype=torch.float64)
    index = torch.tensor(edges, dtype=torch.int64).view(-1, 2).T
    return Graph.from_edge_index(
        index,
        num_nodes,
        weight,
        undirected=True,
        normalization=draw(st.sampled_from(normalizations)),
    )


def normal_rows(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers from their own generator."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def random_graph(
    num_nodes: int, num_edges: int, *, seed: int = 0, weighted: bool = False, **options: str
) -> Graph:
    """About `num_edges` random edges, weights in (0.5, 1.5) when asked for."""
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(0, num_nodes, (2, num_edges), generator=generator)
    index = torch.unique(index.sort(0).values, dim=1)
    weight = None
    if weighted:
        weight = 0.5 + torch.rand(index.shape[1], generator=generator, dtype=torch.float64)
    return Graph.from_edge_index(index, num_nodes, weight, undirected=True, **options)


def hub_graph(nodes: int = 600, edges: int = 4000, *, weighted: bool = False) -> Graph:
    """Numbers of edges fall off as a power, and hubs stand anywhere."""
    generator = torch.Generator().manual_seed(0)
    share = torch.arange(1, nodes + 1).pow(-1.0)[torch.randperm(nodes, generator=generator)]
    ends = torch.multinomial(share, 2 * edges, replacement=True, generator=generator)
    index = torch.unique(ends.view(2, -1).sort(0).values, dim=1)
    graph = Graph.from_edge_index(index, nodes, undirected=True)
    if not weighted:
        return graph
    return graph.with_weight(0.5 + torch.rand(graph.num_edges, generator=generator).double())
