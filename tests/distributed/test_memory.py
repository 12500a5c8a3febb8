"""Rows that a gradient with forgotten steps holds at a time: no more than the steps need."""

import weakref

import torch

from distributed_work import rows_of, small_graph
from elasticgnn import ElasticPenalty
from elasticgnn.distributed import DistributedGraph, elastic_message_passing, loops, partition


class Ledger:
    """Bytes of the rows that live, and the most there ever were."""

    def __init__(self, make):
        self.make, self.now, self.peak = make, 0, 0

    def __call__(self, rows, width, dtype):
        made = self.make(rows, width, dtype)
        size = made.nbytes
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(made, self.give_back, size)
        return made

    def give_back(self, size):
        self.now -= size


def test_gradient_with_forgotten_steps_holds_one_stretch_of_them(monkeypatch):
    graph = small_graph(weighted=False)
    held = DistributedGraph.from_graph(graph, partition(graph, 3, method="blocks"))
    ledger = Ledger(loops.zero_rows)
    monkeypatch.setattr(loops, "zero_rows", ledger)
    monkeypatch.setattr(loops, "SAVED_BYTES", 0)
    x = rows_of(graph.num_nodes, 4, 0)[held.nodes].float().requires_grad_()
    signal = elastic_message_passing(x, held, ElasticPenalty(0.3, 2.0), 10)
    ledger.peak = 0
    torch.autograd.grad(signal.sum(), x)
    node, edge = 16 * graph.num_nodes, 16 * graph.num_edges  # four floats a row
    # x, the gradients of signal, x and dual, four steps, and two rows a node as scratch
    assert ledger.peak <= 3 * node + edge + 4 * (node + edge) + 2 * node
    assert ledger.now <= node  # the signal's gradient has left nothing but x
