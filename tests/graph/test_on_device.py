"""A graph built the way devices want it: the same edges, one look at the result."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elasticgnn import Graph
from elasticgnn.graph.on_device import edges_on_device
from elasticgnn.graph.slots import _sorted_slots
from elasticgnn.operator.triton.tables import tables_of
from strategies import random_graph

# operations whose result has a size, or is a number, that the host must wait for
WAITING = ("_local_scalar_dense", "nonzero", "unique", "bincount", "equal", "masked_select")


class Waits(TorchDispatchMode):
    """Names of the operations that would wait for a device."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.partition(".")[0]
        masks = [a for a in args[1] if a is not None] if name in ("index", "index_put") else []
        by_mask = any(isinstance(a, torch.Tensor) and a.dtype == torch.bool for a in masks)
        if any(word in name for word in WAITING) or by_mask:
            self.names.append(name)
        sized = name == "repeat_interleave" and not (kwargs or {}).get("output_size")
        self.names += ["repeat_interleave"] if sized else []
        return function(*args, **(kwargs or {}))


def lists():
    graph = random_graph(20, 50, weighted=True)
    index, weight = graph.to_edge_index()
    loops = torch.tensor([[3, 5], [3, 5]])
    order = torch.randperm(index.shape[1] + 2, generator=torch.Generator().manual_seed(0))
    looped = torch.cat([index, loops], 1)[:, order]
    parallel = torch.cat([index, index[:, :4], index.flip(0)[:, :4]], 1)
    return {
        "plain": (index, None),
        "weighted": (index, weight),
        "loops": (looped, torch.cat([weight, weight[:2]])[order]),
        "parallel": (parallel, None),
        "int32": (index.int(), weight.float()),
    }


@pytest.mark.parametrize("name", lists())
@pytest.mark.parametrize("num_nodes", [None, 25])
def test_edges_are_those_of_the_ordinary_way_with_one_wait(name, num_nodes, monkeypatch):
    index, weight = lists()[name]
    answers, read = [], torch.Tensor.tolist
    monkeypatch.setattr(torch.Tensor, "tolist", lambda t: answers.append(1) or read(t))
    with Waits() as waits:
        built = edges_on_device(index, num_nodes, weight, False)
    assert (len(answers), waits.names) == (1, [])
    graph = Graph.from_edge_index(index, num_nodes, weight)
    found = Graph(built.edges, built.num_nodes, unit=built.unit)
    assert found.num_nodes == graph.num_nodes
    assert found.is_unweighted == graph.is_unweighted
    assert torch.equal(found.tail, graph.tail)
    assert torch.equal(found.head, graph.head)
    torch.testing.assert_close(found.weight, graph.weight)


def test_slots_and_tables_wait_for_nothing():
    graph = random_graph(20, 50)
    with Waits() as waits:
        slots = _sorted_slots(graph._tail, graph._head, 20)
        tables = tables_of(slots.start, slots.column, slots.edge)
    assert waits.names == []
    assert torch.equal(slots.column, graph._slots.column)
    assert torch.equal(tables.tail.long(), graph.tail)
    assert torch.equal(tables.head.long(), graph.head)


def test_the_gradient_of_weights_is_the_ordinary_one():
    index = lists()["parallel"][0]
    weight = torch.ones(index.shape[1], dtype=torch.float64).requires_grad_()
    cotangent = torch.linspace(0, 1, random_graph(20, 50).num_edges, dtype=torch.float64)
    gradients = [
        torch.autograd.grad(edges, weight, cotangent)[0]
        for edges in (
            edges_on_device(index, None, weight, False).edges.weight,
            Graph.from_edge_index(index, None, weight).weight,
        )
    ]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("index", "num_nodes", "weight", "undirected"),
    [
        ([[0, 1], [1, 2]], None, None, False),
        ([[0, 1], [1, 0]], None, [1.0, 2.0], False),
        ([[0, 1], [1, 0]], None, None, True),
        ([[0, -1], [-1, 0]], None, None, False),
        ([[0, 5], [5, 0]], 3, None, False),
        ([[0, 1], [1, 0]], None, [float("nan")] * 2, False),
        ([[0, 1], [1, 0]], None, [-1.0] * 2, False),
        ([[0, 1], [1, 0]], None, [float("inf")] * 2, False),
        ([[0, 1], [1, 0]], None, [1.0], False),
    ],
)
def test_what_is_wrong_is_left_to_the_way_that_names_it(index, num_nodes, weight, undirected):
    index = torch.tensor(index)
    weight = None if weight is None else torch.tensor(weight)
    assert edges_on_device(index, num_nodes, weight, undirected) is None
    with pytest.raises(ValueError, match="must"):
        Graph.from_edge_index(index, num_nodes, weight, undirected=undirected)
