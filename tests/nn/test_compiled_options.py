"""The layer's options inside torch.compile and torch.export, without breaks in the graph."""

import pytest
import torch
from torch import nn

from elasticgnn import Graph
from elasticgnn.nn import EMP, ElasticGNN
from strategies import normal_rows, random_graph

GRAPH = random_graph(12, 30, weighted=True)
INDEX, WEIGHT = GRAPH.to_edge_index()
X = normal_rows(12, 3)


def compiled(layer):
    torch._dynamo.reset()
    return torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")


def test_single_directions_are_read_alike():
    layer = EMP(4, lambda1=0.3, directed="symmetrize")
    loops = torch.arange(12).expand(2, -1)
    some = torch.cat([INDEX[:, :30], loops, INDEX[:, :2]], 1)
    weight = torch.linspace(0.5, 2.0, some.shape[1], dtype=torch.float64)
    run = compiled(layer)
    torch.testing.assert_close(run(X, some, weight), layer(X, some, weight))
    torch.testing.assert_close(run(X, INDEX), layer(X, INDEX))


@pytest.mark.parametrize("graph", [INDEX, GRAPH], ids=["edge_index", "Graph"])
def test_dropped_edges_lose_both_directions_and_are_drawn_anew(graph):
    # one step of a one-hot signal shows each edge: what i sends to j, j sends to i, or neither
    layer = EMP(1, lambda1=0.0, lambda2=1.0, dropout=0.5)
    run = compiled(layer)
    torch.manual_seed(0)
    results = [run(torch.eye(12, dtype=torch.float64), graph) for _ in range(20)]
    for out in results:
        torch.testing.assert_close(out, out.T)
    missing = torch.stack([(out == 0) for out in results]).double().mean(0)
    tail, head = GRAPH.tail, GRAPH.head
    assert 0.3 < missing[tail, head].mean() < 0.7
    assert len({tuple(out.flatten().tolist()) for out in results}) == 20
    layer.eval()
    torch.testing.assert_close(compiled(layer)(X, graph), layer(X, graph))


def test_dropping_edges_leaves_a_smaller_graph_of_the_same_kind():
    torch.manual_seed(1)
    layer = EMP(3, lambda1=0.3, dropout=0.5)
    out = compiled(layer)(X, INDEX)
    torch.manual_seed(1)
    number = torch.unique(INDEX.sort(0).values, dim=1, return_inverse=True)[1]
    kept = (torch.rand(INDEX.shape[1], dtype=torch.float64) >= 0.5)[number]
    smaller = Graph.from_edge_index(INDEX[:, kept], 12)
    torch.testing.assert_close(out, layer.eval()(X, smaller))


@pytest.mark.parametrize("graph", [INDEX, GRAPH], ids=["edge_index", "Graph"])
def test_a_network_trains_inside_a_compiled_function(graph):
    torch.manual_seed(0)
    network = ElasticGNN(3, 8, 2, learnable=True, lambda1=0.1)
    run = compiled(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(X.float(), graph), torch.arange(12) % 2)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-5:]) < 0.95 * sum(losses[:5])
    assert len(set(losses)) > 25  # dropout draws anew


@pytest.mark.parametrize("layer", [EMP(4, dropout=0.5), ElasticGNN(3, 4, 2)], ids=["EMP", "net"])
def test_what_drops_values_is_exported_in_training(layer):
    nodes, columns = torch.export.Dim("nodes", min=3), torch.export.Dim("columns", min=3)
    shapes = ({0: nodes}, {1: columns})
    program = torch.export.export(layer, (X.float(), INDEX), dynamic_shapes=shapes).module()
    other = random_graph(25, 75, seed=7).to_edge_index()[0]
    first, second = (program(normal_rows(25, 3).float(), other) for _ in range(2))
    assert first.shape[0] == 25
    assert not torch.equal(first, second)


STRENGTH = torch.linspace(0.2, 3.0, INDEX.shape[1], dtype=torch.float64)


def test_a_strength_per_column_is_read_alike():
    layer = EMP(5, lambda1=0.3)
    loops, twice = torch.tensor([[3, 5], [3, 5]]), INDEX[:, :2]
    several = torch.cat([INDEX, loops, twice, twice.flip(0)], 1)
    run = compiled(layer)
    for index in (INDEX, several):
        strength = torch.linspace(0.2, 3.0, index.shape[1], dtype=torch.float64).requires_grad_()
        results = [each(X, index, edge_strength=strength) for each in (layer, run)]
        torch.testing.assert_close(*results)
        gradients = [torch.autograd.grad(out.square().sum(), strength)[0] for out in results]
        torch.testing.assert_close(*gradients)
        assert not torch.equal(results[0], layer(X, index))


def test_a_strength_per_edge_of_a_graph_is_read_alike():
    strength = STRENGTH[: GRAPH.num_edges]
    layer = EMP(5, lambda1=0.3)
    out = compiled(layer)(X, GRAPH, edge_strength=strength)
    torch.testing.assert_close(out, layer(X, GRAPH, edge_strength=strength))
    dropping = EMP(5, lambda1=0.3, dropout=0.5)
    torch.manual_seed(0)
    out = compiled(dropping)(X, GRAPH, edge_strength=strength)
    torch.manual_seed(0)
    weight = GRAPH.weight * (torch.rand_like(GRAPH.weight) >= 0.5)
    smaller = GRAPH.with_weight(weight)
    torch.testing.assert_close(out, layer(X, smaller, edge_strength=strength))


def test_a_strength_per_column_is_exported():
    layer = EMP(4, lambda1=0.3)
    nodes, columns = torch.export.Dim("nodes", min=3), torch.export.Dim("columns", min=3)
    shapes = {"x": {0: nodes}, "edge_index": {1: columns}, "edge_strength": {0: columns}}
    given = {"edge_strength": STRENGTH}
    program = torch.export.export(layer, (X, INDEX), given, dynamic_shapes=shapes).module()
    other, x = random_graph(25, 75, seed=7).to_edge_index()[0], normal_rows(25, 3)
    strength = torch.linspace(0.0, 2.0, other.shape[1], dtype=torch.float64)
    torch.testing.assert_close(
        program(x, other, edge_strength=strength), layer(x, other, edge_strength=strength)
    )
    with pytest.raises(RuntimeError, match="edge_strength must be finite"):
        program(x, other, edge_strength=-strength)


def test_what_cannot_be_traced_is_refused_in_words():
    with pytest.raises(Exception, match="EMP takes an edge_index with degree"):
        torch.export.export(EMP(2, normalization="none"), (X, INDEX))
    with pytest.raises(NotImplementedError, match=r"inside torch\.jit\.trace EMP takes both"):
        torch.jit.trace(EMP(2, dropout=0.5), (X, INDEX))
    with pytest.raises(NotImplementedError, match="no strength per edge"):
        torch.jit.trace(lambda x, s: EMP(2)(x, INDEX, edge_strength=s), (X, STRENGTH))
