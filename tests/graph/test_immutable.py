"""A graph stays what it was built as, whatever is written into the tensors it hands out."""

import numpy as np
import pytest
import torch

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing


def square() -> Graph:
    index = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    return Graph.from_edge_index(index, 4, torch.tensor([1.0, 2.0, 3.0, 4.0]), undirected=True)


def smoothed(graph: Graph) -> torch.Tensor:
    x = torch.arange(8.0).reshape(4, 2)
    ways = ("auto", "reference")
    return torch.stack(
        [elastic_message_passing(x, graph, ElasticPenalty(), 5, implementation=w) for w in ways]
    )


PUBLIC = {
    "tail": lambda g: g.tail,
    "head": lambda g: g.head,
    "weight": lambda g: g.weight,
    "degree": lambda g: g.degree,
    "scale": lambda g: g.scale,
    "component_labels": lambda g: g.component_labels,
    "cast weight": lambda g: g.cast(torch.float32)[0],
    "cast own type": lambda g: g.cast(g.weight.dtype)[0],
    "cast scale": lambda g: g.cast(torch.float32)[1],
    "edge index": lambda g: g.to_edge_index()[0],
    "index weight": lambda g: g.to_edge_index()[1],
    "part": lambda g: g.largest_component()[1],
}


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("name", PUBLIC)
def test_writing_into_what_a_graph_gives_changes_nothing(name, early):
    graph, fresh = square(), square()
    if early:
        smoothed(graph)  # what is remembered is made
    PUBLIC[name](graph).mul_(7)
    np.asarray(PUBLIC[name](graph))[:] = 10**6
    assert torch.equal(smoothed(graph), smoothed(fresh))
    assert graph.fingerprint == fresh.fingerprint
    assert torch.equal(graph.component_labels, fresh.component_labels)
    assert torch.equal(graph.tail, fresh.tail)
    assert torch.equal(graph.weight, fresh.weight)


def test_nothing_public_leads_to_the_tables_of_the_loops():
    graph = square()
    smoothed(graph)
    tables = {id(t) for t in vars(graph._slots).values() if isinstance(t, torch.Tensor)}
    tables |= {id(graph._tail), id(graph._head), id(graph._weight)}
    names = [name for name in dir(graph) if not name.startswith("_")]
    given = [getattr(graph, name) for name in names if not callable(getattr(graph, name))]
    assert not tables & {id(value) for value in given}
    assert all(isinstance(v, torch.Tensor | int | float | str | torch.device) for v in given)


def test_weights_given_to_a_graph_are_its_own():
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
    graph = square().with_weight(weight)
    fresh = square().with_weight(weight.clone())
    weight *= 5
    assert torch.equal(smoothed(graph), smoothed(fresh))
    assert graph.fingerprint == fresh.fingerprint


def test_edges_given_to_a_graph_are_its_own():
    index = torch.tensor([[0, 1], [1, 2]])
    weight = torch.tensor([1.0, 2.0])
    graph = Graph.from_edge_index(index, 3, weight, undirected=True)
    before = graph.fingerprint, graph.tail.clone()
    index.fill_(0)
    weight.fill_(9)
    assert graph.tail.tolist() == before[1].tolist()
    assert graph.fingerprint == before[0]


def test_the_fingerprint_of_trained_weights_follows_them():
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    graph = square().with_weight(weight)
    before = graph.fingerprint
    with torch.no_grad():
        weight.mul_(2)
    assert graph.fingerprint != before
