"""Graphs: what goes in comes out, laws of the operators, parts, and refusals by message."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from elasticgnn import Graph
from strategies import graphs, normal_rows, random_graph

PATH = torch.tensor([[0, 1], [1, 2]])


def dense_incidence(graph):
    rows = torch.zeros(graph.num_edges, graph.num_nodes, dtype=torch.float64)
    rows[torch.arange(graph.num_edges), graph.tail] = 1.0
    rows[torch.arange(graph.num_edges), graph.head] = -1.0
    return rows * graph.scale


@given(graph=graphs(), seed=st.integers(0, 99))
def test_difference_and_divergence_are_adjoint(graph, seed):
    signal = normal_rows(graph.num_nodes, 2, seed=seed)
    dual = normal_rows(graph.num_edges, 2, seed=seed + 1)
    left = (graph.weight[:, None] * graph.difference(signal) * dual).sum()
    right = (signal * graph.divergence(dual)).sum()
    size = float((graph.weight[:, None] * dual.abs()).sum()) + 1
    assert abs(float(left - right)) <= 1e-13 * size * float(signal.abs().max())


@given(graph=graphs())
def test_operators_equal_the_dense_incidence_matrix(graph):
    incidence = dense_incidence(graph)
    signal, dual = normal_rows(graph.num_nodes, 3), normal_rows(graph.num_edges, 3)
    torch.testing.assert_close(graph.difference(signal), incidence @ signal)
    torch.testing.assert_close(graph.divergence(dual), incidence.T @ (graph.weight[:, None] * dual))


@given(graph=graphs(normalizations=("degree",)))
def test_smoothing_is_the_normalised_adjacency_with_self_loops(graph):
    adjacency = torch.from_numpy(graph.to_scipy().toarray()) + torch.eye(graph.num_nodes)
    scale = adjacency.sum(1).rsqrt()
    signal = normal_rows(graph.num_nodes, 2)
    expected = scale[:, None] * (adjacency @ (scale[:, None] * signal))
    torch.testing.assert_close(graph.smooth(signal), expected, rtol=1e-9, atol=1e-9)


@given(graph=graphs())
def test_norm_bound_is_at_least_the_laplacian_norm(graph):
    incidence = dense_incidence(graph)
    laplacian = incidence.T @ (graph.weight[:, None] * incidence)
    largest = float(torch.linalg.eigvalsh(laplacian).max())
    assert largest <= graph.norm_bound * (1 + 1e-9)


@given(graph=graphs())
def test_slots_list_every_neighbour_once_in_order(graph):
    slots = graph._slots
    expected = [[] for _ in range(graph.num_nodes)]
    for e, (i, j) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)):
        expected[i].append((j, e))
        expected[j].append((i, e))
    for i, neighbours in enumerate(expected):
        low, high = int(slots.start[i]), int(slots.start[i + 1])
        found = zip(slots.column[low:high].tolist(), slots.edge[low:high].tolist(), strict=True)
        assert list(found) == sorted(neighbours)


@given(graph=graphs(normalizations=("degree",)))
def test_every_form_returns_the_same_graph(graph):
    index, weight = graph.to_edge_index()
    assert Graph.from_edge_index(index, graph.num_nodes, weight) == graph
    assert Graph.from_pyg(graph.to_pyg()) == graph
    assert Graph.from_pyg(with_edge_attr(graph), weight="edge_attr") == graph
    assert Graph.from_pyg(with_edge_attr(graph), weight=None).is_unweighted
    assert Graph.from_networkx(graph.to_networkx()) == graph
    for layout in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        assert Graph.from_torch_sparse(graph.to_torch_sparse(layout)) == graph
    assert Graph.from_scipy(graph.to_scipy()) == graph


def test_rows_of_a_list_and_of_a_csv_file_give_one_graph(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("source,target,weight\n0,1,2.5\n2,1,1\n")
    assert Graph.from_edges(file) == Graph.from_edges([(1, 0, 2.5), (1, 2, 1.0)])


def test_parallel_edges_add_up_and_self_loops_vanish():
    index = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 2]])
    graph = Graph.from_edge_index(index, 4, undirected=True)
    assert graph.weight.tolist() == [2.0, 1.0]
    assert graph.degree.tolist() == [3.0, 4.0, 2.0, 1.0]


def test_equal_content_means_equal_hash_and_other_content_does_not():
    first = Graph.from_edge_index(PATH, undirected=True)
    again = Graph.from_edge_index(PATH.flip(1), undirected=True)
    assert first == again
    assert hash(first) == hash(again)
    assert first != Graph.from_edge_index(PATH, 4, undirected=True)
    assert first != first.with_normalization("none")
    assert first != first.with_weight(torch.tensor([1.0, 2.0]))


def test_graph_refuses_to_change_and_survives_pickling():
    graph = Graph.from_edge_index(PATH, undirected=True)
    with pytest.raises(AttributeError, match="immutable"):
        graph.num_nodes = 5
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_weight_gradient_reaches_the_tensor_that_was_given():
    weight = torch.ones(4, dtype=torch.float64, requires_grad=True)
    index = torch.cat([PATH, PATH.flip(0)], 1)
    graph = Graph.from_edge_index(index, 3, weight)
    graph.degree[0].backward()
    assert weight.grad.tolist() == [0.5, 0.0, 0.5, 0.0]


def test_weights_that_carry_gradient_can_be_used_in_two_backward_passes():
    weight = torch.ones(2, dtype=torch.float64, requires_grad=True)
    graph = Graph.from_edge_index(PATH, undirected=True).with_weight(weight)
    for _ in range(2):
        graph.difference(normal_rows(3, 1)).sum().backward()


@given(graph=graphs(), seed=st.integers(0, 99))
def test_permuting_there_and_back_is_the_same_graph(graph, seed):
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    permuted = graph.permute(order)
    signal = normal_rows(graph.num_nodes, 2)
    torch.testing.assert_close(permuted.smooth(signal[order]), graph.smooth(signal)[order])
    assert permuted.permute(torch.argsort(order)) == graph


def test_flipping_twice_restores_the_graph():
    graph = random_graph(20, 40)
    present = torch.stack([graph.tail[3], graph.head[3]])
    absent = next(
        torch.tensor([i, j])
        for i in range(20)
        for j in range(i)
        if not bool(((graph.tail == j) & (graph.head == i)).any())
    )
    pairs = torch.stack([present, absent])
    flipped = graph.with_edges_flipped(pairs)
    assert flipped.num_edges == graph.num_edges
    assert flipped != graph
    assert flipped.with_edges_flipped(pairs) == graph


def test_components_agree_with_scipy_and_the_largest_is_cut_out():
    graph = Graph.from_edges([(0, 1), (1, 2), (4, 5)], num_nodes=7)
    assert graph.num_components == 4
    assert graph.component_labels.tolist() == [0, 0, 0, 1, 2, 2, 3]
    part, nodes = graph.largest_component()
    assert nodes.tolist() == [0, 1, 2]
    assert part == Graph.from_edges([(0, 1), (1, 2)])


def test_a_hub_of_many_float32_weights_has_the_degree_of_their_sum():
    leaves = torch.arange(1, 300_001)
    edges = torch.stack([torch.zeros_like(leaves), leaves])
    graph = Graph.from_edge_index(edges, None, torch.full((300_000,), 0.1), undirected=True)
    truth = 1 + 300_000 * float(np.float32(0.1))
    assert float(graph.degree[0]) == pytest.approx(truth, rel=1e-7)
    assert float(graph.cast(torch.float64)[1][0]) == pytest.approx(truth**-0.5, rel=1e-12)


def test_float32_weights_stay_float32():
    graph = Graph.from_edge_index(PATH, edge_weight=torch.ones(2), undirected=True)
    assert graph.weight.dtype == torch.float32


BAD_INDEX = [
    (dict(edge_index=torch.zeros(3, 2)), "edge_index must be an integer tensor of shape"),
    (dict(edge_index=[[0], [1]]), "edge_index must be an integer tensor of shape"),
    (dict(edge_index=torch.zeros(2, 2)), "edge_index must hold integers, got torch.float32"),
    (dict(edge_index=torch.tensor([[0], [-1]])), "must hold node numbers >= 0, got -1"),
    (dict(edge_index=PATH, num_nodes=2), "must name nodes below num_nodes = 2, got 2"),
    (dict(edge_index=PATH, num_nodes=2.5), "num_nodes must be an integer >= 0, got 2.5"),
    (dict(edge_index=PATH, num_nodes=2**31), "num_nodes must be at most 2147483647"),
    (dict(edge_index=PATH), "must hold both directions of every edge"),
    (dict(edge_index=PATH, directed="both"), "directed must be one of"),
    (dict(edge_index=PATH, directed="symmetrize", undirected=True), "undirected must be False"),
    (dict(edge_index=PATH, edge_weight=torch.ones(3)), r"edge_weight must have shape \(2,\)"),
    (dict(edge_index=PATH, edge_weight=torch.ones(2).long()), "must be float32 or float64"),
    (dict(edge_index=PATH, edge_weight=torch.tensor([1.0, -2.0])), ">= 0, got -2.0"),
    (dict(edge_index=PATH, edge_weight=torch.tensor([float("nan"), 1])), ">= 0, got nan"),
    (dict(edge_index=PATH, edge_weight=torch.tensor([float("inf"), 1])), ">= 0, got inf"),
    (dict(edge_index=PATH, undirected=True, normalization="row"), "normalization must be one of"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_INDEX)
def test_bad_edge_list_is_refused_by_message(arguments, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_edge_index(**arguments)


def test_directions_with_unequal_weights_are_refused():
    index = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"got 1 for \(0, 1\) and 2 for \(1, 0\)"):
        Graph.from_edge_index(index, edge_weight=torch.tensor([1.0, 2.0]))


def test_both_directions_read_as_undirected_are_refused():
    index = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="each edge would count twice"):
        Graph.from_edge_index(index, undirected=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.subgraph(torch.tensor([0, 0])), "at most once"),
        (lambda g: g.subgraph(torch.tensor([9])), "must lie in"),
        (lambda g: g.permute(torch.tensor([0])), "order must name all 3 nodes"),
        (lambda g: g.with_edges_flipped(torch.tensor([[1, 1]])), "two different nodes"),
        (lambda g: g.with_edges_flipped(torch.tensor([[0, 1], [1, 0]])), "distinct"),
        (lambda g: g.with_edges_flipped(torch.tensor([0, 1])), r"shape \(k, 2\)"),
        (lambda g: g.with_edges_flipped(torch.tensor([[0, 7]])), "must name nodes in"),
        (lambda g: g.with_weight(torch.ones(5)), r"weight must have shape \(2,\)"),
        (lambda g: g.to_torch_sparse(torch.strided), "layout must be sparse"),
        (lambda g: Graph.from_torch_sparse(torch.eye(2)), "must be a torch sparse matrix"),
        (lambda g: Graph.from_scipy(np.eye(2)), "must be a scipy sparse matrix"),
        (lambda g: Graph.from_scipy(sparse.csr_array((2, 3))), "matrix must be square"),
        (lambda g: Graph.from_edges([(0, 1), (0, 1, 2)]), "rows of 2 or of 3"),
        (lambda g: Graph.from_edges([(0.5, 1)]), "whole numbers"),
        (lambda g: Graph.from_pyg(object()), "must have an edge_index"),
        (lambda g: Graph.from_pyg(with_edge_attr(g)), "weight must say what edge_attr is"),
        (lambda g: Graph.from_pyg(g.to_pyg(), weight="cost"), "weight must name an attribute"),
    ],
)
def test_bad_argument_is_refused_by_message(call, message):
    with pytest.raises(ValueError, match=message):
        call(Graph.from_edge_index(PATH, undirected=True))


def test_bad_line_of_a_file_is_named(tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("0,1\n1,x\n")
    with pytest.raises(ValueError, match="in line 2 of"):
        Graph.from_edges(file)


def with_edge_attr(graph):
    """Its weights as a column that torch_geometric's data sets may use for anything."""
    data = graph.to_pyg()
    data.edge_attr = data.edge_weight[:, None]
    del data.edge_weight
    return data


def test_the_bound_of_weights_that_are_learned_follows_them():
    weight = torch.nn.Parameter(torch.ones(2))
    graph = Graph.from_edges([(0, 1), (1, 2)], normalization="none").with_weight(weight)
    before = graph.norm_bound
    with torch.no_grad():
        weight.mul_(10)
    assert graph.norm_bound == pytest.approx(10 * before)
