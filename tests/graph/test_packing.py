"""The packed tables: equal to the plain ones, equal nodes together, shared ones on few lines."""

import numpy as np
import pytest
import torch

import plain_packing
from elasticgnn import Graph
from elasticgnn.graph import packing
from elasticgnn.kernels import native, tuning
from marks import needs_kernels


def path_graph(num_nodes):
    nodes = torch.arange(num_nodes - 1)
    return Graph.from_edge_index(torch.stack([nodes, nodes + 1]), num_nodes, undirected=True)


def test_windows_have_equal_work(monkeypatch):
    monkeypatch.setattr(tuning, "PACKED_WINDOW", 16)
    work = np.arange(100)
    total = np.bincount(plain_packing.windows(work), work)
    assert len(total) == 8
    assert np.all(np.abs(total - work.sum() / 8) <= 100)


def test_reach_tells_which_halves_a_node_and_its_neighbours_share():
    slots = path_graph(16)._slots
    backwards, window = np.arange(16)[::-1], np.arange(16) // 4
    reach = plain_packing.reach_of(slots.start.numpy(), slots.column.numpy(), backwards, window)
    assert reach.tolist() == [0, 0, 0, 1, 1, 0, 0, 2, 2, 0, 0, 1, 1, 0, 0, 0]


def test_nodes_without_neighbours_reach_nothing():
    graph = Graph.from_edge_index(torch.tensor([[1], [3]]), 5, undirected=True)
    window = np.array([0, 0, 1, 1, 1])
    tables = (graph._slots.start.numpy(), graph._slots.column.numpy())
    assert plain_packing.reach_of(*tables, np.arange(5), window).tolist() == [0, 1, 0, 1, 0]


def random_graph(num_nodes, num_edges, seed):
    generator = torch.Generator().manual_seed(seed)
    ends = torch.randint(0, num_nodes, (2, num_edges), generator=generator)
    return Graph.from_edge_index(torch.cat([ends, ends.flip(0)], 1), num_nodes)


@needs_kernels
@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [4, 64, 4096])
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_compiled_tables_equal_the_plain_ones(rows, window, cache, monkeypatch):
    monkeypatch.setattr(tuning, "PACKED_WINDOW", window)
    monkeypatch.setattr(native.tuning, "cache_bytes", cache)
    monkeypatch.setattr(tuning, "PACKED_CHUNK", 8)
    sizes = [(1, 0), (2, 1), (5, 3), (40, 20), (50, 400), (300, 200), (300, 900)]
    for seed, (num_nodes, num_edges) in enumerate(sizes):
        slots = random_graph(num_nodes, num_edges, seed)._slots
        tables = (slots.start, slots.column, slots.edge, rows)
        fast, plain = packing.pack_slots(*tables), plain_packing.pack_slots(*tables)
        for name, table in fast._asdict().items():
            assert table.tolist() == getattr(plain, name).tolist(), (name, num_nodes)


@needs_kernels
def test_nodes_that_threads_share_lie_together(monkeypatch):
    monkeypatch.setattr(native.tuning, "cache_bytes", 0)
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

    def shared_lines(pack_slots):
        order = pack_slots(graph._slots.start, graph._slots.column, graph._slots.edge, 4).order
        place = torch.empty(side * side, dtype=torch.int64)
        place[order.long()] = torch.arange(side * side)
        tail, head = place[graph.tail], place[graph.head]
        cut = (tail < side * side // 2) != (head < side * side // 2)
        return len(torch.unique(torch.cat([tail[cut], head[cut]]) // 4))

    monkeypatch.setattr(plain_packing, "reach_of", lambda *tables: np.zeros(side * side, int))
    assert shared_lines(packing.pack_slots) < shared_lines(plain_packing.pack_slots)
