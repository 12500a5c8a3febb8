"""Division of nodes into parts of about equal work."""

import numpy as np
import pytest
import torch

from distributed_work import small_graph
from elasticgnn import Graph
from elasticgnn.distributed import partition
from elasticgnn.distributed.part import cut_parts, ranks_of_parts


def grid(side: int) -> Graph:
    node = torch.arange(side * side).view(side, side)
    right = torch.stack([node[:, :-1].flatten(), node[:, 1:].flatten()])
    down = torch.stack([node[:-1].flatten(), node[1:].flatten()])
    return Graph.from_edge_index(torch.cat([right, down], 1), side * side, undirected=True)


@pytest.mark.parametrize("method", ["metis", "clusters", "blocks"])
def test_parts_have_about_equal_work_and_none_is_empty(method):
    graph = grid(30)
    parts = list(cut_parts(graph, partition(graph, 8, method=method)))
    work = np.array([part.work for part in parts])
    assert len(parts) == 8
    assert work.max() < 1.15 * work.mean()


def test_metis_cuts_a_grid_into_compact_parts_and_neighbours_have_near_numbers():
    graph = grid(32)
    found = partition(graph, 8, method="metis")
    assert int((found[graph.tail] != found[graph.head]).sum()) < 0.1 * graph.num_edges
    halves = found // 4
    assert int((halves[graph.tail] != halves[graph.head]).sum()) <= 45


@pytest.mark.parametrize("method", ["metis", "clusters", "blocks"])
def test_as_many_parts_as_nodes_and_a_hub(method):
    graph = small_graph()
    found = partition(graph, graph.num_nodes, method=method)
    assert sorted(found.tolist()) == list(range(graph.num_nodes))


def test_parts_hold_every_edge_from_both_ends_in_global_order():
    graph = small_graph(weighted=True)
    dense = torch.zeros(46, 46, dtype=torch.float64)
    for part in cut_parts(graph, partition(graph, 4, method="metis")):
        assert (np.diff(part.nodes) > 0).all()
        for k, node in enumerate(part.nodes):
            row = slice(part.start[k], part.start[k + 1])
            assert (np.diff(part.neighbour[row]) > 0).all()
            dense[node, part.neighbour[row].astype(int)] = torch.from_numpy(part.weight[row])
    assert torch.equal(dense, graph.to_torch_sparse().to_dense().double())


def test_consecutive_parts_go_to_processes_in_order():
    assert ranks_of_parts(np.array([1, 1, 1, 1]), 2).tolist() == [0, 0, 1, 1]
    assert ranks_of_parts(np.array([9, 1, 1, 1]), 3).tolist() == [0, 1, 2, 2]
    assert ranks_of_parts(np.array([1, 1, 9]), 3).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="at least as many as the processes"):
        ranks_of_parts(np.array([1, 1]), 3)


def test_bad_arguments_are_refused():
    graph = small_graph()
    with pytest.raises(ValueError, match=r"parts must be a whole number in 1\.\.46"):
        partition(graph, 47)
    with pytest.raises(ValueError, match="method must be one of"):
        partition(graph, 2, method="spectral")
