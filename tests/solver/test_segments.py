"""Constant pieces and the edges between them."""

import torch

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
from solver_signals import chain, steps


def test_three_stretches_are_three_pieces_with_two_saturated_edges():
    x = steps(torch.Generator().manual_seed(2))
    solution = minimise(x, chain(120), ElasticPenalty(6.0, 0.0))
    assert solution.pieces().unique_consecutive().tolist() == [0, 1, 2]
    boundary = solution.boundary()
    assert sorted(boundary.edge.tolist()) == [39, 79]
    assert boundary.pieces[boundary.edge == 39].tolist() == [[0, 1]]
    torch.testing.assert_close(boundary.saturation, torch.ones(2, dtype=torch.float64))
    # equal saturation: the longer jump comes first
    assert boundary.jump[0] > boundary.jump[1]


def test_pieces_are_constant_up_to_degree_scaling():
    star = Graph.from_edges([(0, 1), (0, 2), (0, 3)])
    x = torch.randn(4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    solution = minimise(x, star, ElasticPenalty(10.0, 0.0), rtol=1e-10)
    assert solution.pieces().tolist() == [0, 0, 0, 0]
    scaled = star.scale * solution.value
    torch.testing.assert_close(scaled, scaled[:1].expand(4))
    assert float(solution.value.std()) > 1e-3
    assert len(solution.boundary()) == 0


def test_the_boundary_of_a_free_trend_takes_the_rows_over_each_edge():
    x = torch.arange(8).double() ** 2
    for order in (0, 1, 2):
        solution = minimise(x, chain(8), ElasticPenalty(0.1, 0.0), order=order, boundary="free")
        boundary = solution.boundary()
        assert len(boundary) == 7
        assert (boundary.saturation <= 1 + 1e-9).all()


def test_the_rows_of_a_free_chain_are_not_its_edges_in_their_order():
    # the chain 2 - 0 - 1 - 3: its first row of differences is the edge (0, 2)
    graph = Graph.from_edges([(0, 1), (0, 2), (1, 3)], normalization="none")
    x = torch.tensor([0.0, 0.0, 5.0, 0.5]).double()
    free = minimise(x, graph, ElasticPenalty(0.4, 0.0), boundary="free", rtol=1e-9)
    plain = minimise(x, graph, ElasticPenalty(0.4, 0.0))
    torch.testing.assert_close(free.value, plain.value, atol=1e-4, rtol=0)
    expected = dict(zip(plain.boundary().edge.tolist(), plain.boundary().saturation, strict=True))
    found = dict(zip(free.boundary().edge.tolist(), free.boundary().saturation, strict=True))
    assert expected.keys() <= found.keys()  # free: every edge that is not equal to the last digits
    for edge, saturation in expected.items():
        torch.testing.assert_close(found[edge], saturation, atol=1e-3, rtol=0)


def test_pieces_without_any_value_do_not_count():
    graph = Graph.from_edges([(0, 1), (2, 3), (4, 5)])
    x = torch.tensor([[1.0], [1.0], [5.0], [5.0], [0.0], [0.0]])
    weight = torch.tensor([[1.0], [1.0], [1.0], [1.0], [0.0], [0.0]])
    solution = minimise(x, graph, ElasticPenalty(0.1, 0.0), data_weight=weight)
    assert solution.num_empty == 2
    assert solution.num_pieces() == 2
