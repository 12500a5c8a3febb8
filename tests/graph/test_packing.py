"""The order of the packed tables: equal nodes together, shared ones on few cache lines."""

import numpy as np
import torch

from elasticgnn import Graph
from elasticgnn.graph import packing
from marks import needs_kernels


def path_graph(num_nodes):
    nodes = torch.arange(num_nodes - 1)
    return Graph.from_edge_index(torch.stack([nodes, nodes + 1]), num_nodes, undirected=True)


def test_windows_have_equal_work(monkeypatch):
    monkeypatch.setattr(packing, "PACKED_WINDOW", 16)
    work = np.arange(100)
    total = np.bincount(packing._windows(work), work)
    assert len(total) == 8
    assert np.all(np.abs(total - work.sum() / 8) <= 100)


def test_reach_tells_which_halves_a_node_and_its_neighbours_share():
    slots = path_graph(16)._slots
    backwards, window = np.arange(16)[::-1], np.arange(16) // 4
    reach = packing._reach(slots.start.numpy(), slots.column.numpy(), backwards, window)
    assert reach.tolist() == [0, 0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 1, 1, 0, 0, 0]


def test_nodes_without_neighbours_reach_nothing():
    graph = Graph.from_edge_index(torch.tensor([[1], [3]]), 5, undirected=True)
    window = np.array([0, 0, 1, 1, 1])
    tables = (graph._slots.start.numpy(), graph._slots.column.numpy())
    assert packing._reach(*tables, np.arange(5), window).tolist() == [0, 1, 0, 1, 0]


@needs_kernels
def test_nodes_that_threads_share_lie_together(monkeypatch):
    monkeypatch.setattr(packing, "REORDER_BYTES", 0)
    side = 64
    grid = torch.arange(side * side).view(side, side)
    edges = torch.cat(
        [
            torch.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()]),
            torch.stack([grid[:-1].ravel(), grid[1:].ravel()]),
        ],
        dim=1,
    )
    graph = Graph.from_edge_index(edges, side * side, undirected=True)

    def shared_lines():
        order = packing.pack_slots(
            graph._slots.start, graph._slots.column, graph._slots.edge, 4
        ).order
        place = torch.empty(side * side, dtype=torch.int64)
        place[order.long()] = torch.arange(side * side)
        tail, head = place[graph.tail], place[graph.head]
        cut = (tail < side * side // 2) != (head < side * side // 2)
        return len(torch.unique(torch.cat([tail[cut], head[cut]]) // 4))

    together = shared_lines()
    monkeypatch.setattr(packing, "_reach", lambda *tables: np.zeros(side * side, int))
    assert together < shared_lines()
