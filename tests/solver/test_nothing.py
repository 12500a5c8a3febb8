"""Graphs without edges or nodes, and signals without channels."""

import pytest
import torch

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise, minimise_path
from elasticgnn.solver.methods.choice import RUN
from marks import needs_kernels
from solver_signals import chain

PENALTY = ElasticPenalty(1.0, 0.0)


def edgeless(nodes: int) -> Graph:
    none = torch.empty(2, 0, dtype=torch.long)
    return Graph.from_edge_index(none, nodes, undirected=True, normalization="none")


@needs_kernels
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("method", [name for name in RUN if name != "forest"])
def test_a_graph_without_edges_leaves_the_data_alone(method, order):
    x = torch.tensor([[0.0, 2.0], [5.0, 1.0], [7.0, 7.0]], dtype=torch.float64)
    solution = minimise(x, edgeless(3), PENALTY, method=method, order=order)
    assert (solution.method, solution.certified) == (method, True)
    torch.testing.assert_close(solution.value, x)


@pytest.mark.parametrize("extras", [{}, {"sparsity": 0.1}, {"loss": "poisson", "upper": 1.0}])
@pytest.mark.parametrize("method", ["auto", "interior"])
def test_a_graph_without_nodes_has_an_empty_answer(method, extras):
    x = torch.zeros(0, 2, dtype=torch.float64)
    solution = minimise(x, edgeless(0), PENALTY, method=method, **extras)
    assert (solution.value.shape, solution.objective, solution.certified) == (x.shape, 0.0, True)
    assert len(solution.pieces()) == 0


@pytest.mark.parametrize("method", ["auto", *RUN])
def test_a_signal_without_channels_is_refused(method):
    x = torch.zeros(6, 0, dtype=torch.float64)
    with pytest.raises(ValueError, match=r"x must have a channel, got shape \(6, 0\)"):
        minimise(x, chain(6), PENALTY, method=method)
    with pytest.raises(ValueError, match="x must have a channel"):
        minimise_path(x, chain(6), [0.1, 0.2])
