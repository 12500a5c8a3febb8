"""Hubs last: which graphs are put in another order, and that it is an order of the same graph."""

import pytest
import torch

from elasticgnn import Graph
from elasticgnn.graph import grid_graph
from elasticgnn.graph.degree_order import order_hubs
from strategies import hub_graph, normal_rows, random_graph


def test_hubs_come_last():
    graph = hub_graph()
    ordered = order_hubs(graph)
    degree = torch.bincount(torch.cat([graph.tail, graph.head]), minlength=600)
    assert torch.equal(degree[ordered.order], degree.sort().values)
    assert torch.equal(ordered.order[ordered.place], torch.arange(600))


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_same_graph(weighted):
    graph = hub_graph(weighted=weighted)
    ordered, x = order_hubs(graph), normal_rows(600, 3)
    out = torch.empty_like(x)
    ordered.hand_back(ordered.graph.smooth(ordered.rows(x)), out)
    torch.testing.assert_close(out, graph.smooth(x))
    assert ordered.graph.is_unweighted is not weighted


def test_it_is_made_once():
    graph = hub_graph()
    assert order_hubs(graph) is order_hubs(graph)


@pytest.mark.parametrize("graph", [grid_graph(20, 20), random_graph(500, 3000)], ids=str)
def test_graphs_without_hubs_keep_their_order(graph):
    assert order_hubs(graph) is None


def test_hubs_that_are_near_keep_their_order():
    near = [(100 * k, 100 * k + j) for k in range(50) for j in range(1, 100)]
    assert order_hubs(Graph.from_edges(near)) is None


def test_weights_that_ask_for_a_gradient_keep_their_order():
    graph = hub_graph()
    weight = torch.ones(graph.num_edges, requires_grad=True)
    assert order_hubs(graph.with_weight(weight)) is None
