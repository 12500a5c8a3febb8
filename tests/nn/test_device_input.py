"""The layer's edge lists on a device, tried with those of the CPU: reads of values are counted."""

import gc

import pytest
import torch

from elasticgnn import Graph
from elasticgnn.nn import device_input
from elasticgnn.nn.device_input import device_graph
from elasticgnn.nn.graph_input import as_graph, merged_values
from elasticgnn.nn.reading import Reading
from strategies import random_graph

READING, SYMMETRIZE = Reading(), Reading(directed="symmetrize")
INDEX, WEIGHT = random_graph(20, 50, weighted=True).to_edge_index()


class ValueReads:
    """Counts what makes a host wait for a device: numbers and booleans read out of tensors."""

    def __init__(self, monkeypatch):
        self.count = 0
        for name in ("tolist", "item", "__bool__", "__int__", "__float__", "nonzero"):
            monkeypatch.setattr(torch.Tensor, name, self.counted(getattr(torch.Tensor, name)))
        for name in ("equal", "unique", "nonzero"):
            monkeypatch.setattr(torch, name, self.counted(getattr(torch, name)))

    def counted(self, read):
        def counting(*arguments, **options):
            self.count += 1
            return read(*arguments, **options)

        return counting

    def during(self, run):
        before = self.count
        return run(), self.count - before


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_a_call_reads_values_once_and_reuses_the_graph(weight, monkeypatch):
    index, reads = INDEX.clone(), ValueReads(monkeypatch)
    first, at_first = reads.during(lambda: device_graph(index, 20, weight, READING, index))
    again, later = reads.during(lambda: device_graph(index, 20, weight, READING, index))
    assert (at_first, later) == (1, 1)
    assert again is first
    assert first == Graph.from_edge_index(index, 20, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_directions_take_one_read_too(weighted, monkeypatch):
    index = torch.cat([INDEX[:, :60], torch.tensor([[4], [4]])], 1)
    weight = torch.linspace(0.5, 2.0, 61, dtype=torch.float64) if weighted else None
    reads = ValueReads(monkeypatch)
    first, at_first = reads.during(lambda: device_graph(index, 20, weight, SYMMETRIZE, index))
    again, later = reads.during(lambda: device_graph(index, 20, weight, SYMMETRIZE, index))
    assert (at_first, later) == (1, 1)
    assert again is first
    assert first == Graph.from_edge_index(index, 20, weight, directed="symmetrize")
    assert first == as_graph(index, 20, weight, SYMMETRIZE)


def test_another_reading_is_another_graph():
    index, weight = INDEX.clone(), torch.ones(INDEX.shape[1], dtype=torch.float64)
    parallel = torch.cat([index, index[:, :1]], 1)
    device_graph(parallel, 20, None, SYMMETRIZE, parallel)
    with pytest.raises(ValueError, match="edge_index must hold both directions"):
        device_graph(parallel, 20, None, READING, parallel)
    with pytest.raises(ValueError, match="edge_weight must be finite"):
        device_graph(index, 20, -weight, SYMMETRIZE, index)


def test_learned_weights_look_once_per_call(monkeypatch):
    weight, reads = WEIGHT.clone().requires_grad_(), ValueReads(monkeypatch)
    for _ in range(2):
        graph, count = reads.during(lambda: device_graph(INDEX, 20, weight, READING, INDEX))
        assert count == 1
    graph.weight.sum().backward()
    torch.testing.assert_close(weight.grad, torch.full_like(weight, 0.5))


def test_what_changed_behind_the_back_is_seen():
    index, weight = INDEX.clone(), WEIGHT.clone()
    first = device_graph(index, 20, weight, READING, index)
    weight.data *= 2
    heavier = device_graph(index, 20, weight, READING, index)
    assert torch.equal(heavier.weight, 2 * first.weight)
    index.numpy()[0, 0] += 1
    with pytest.raises(ValueError, match="edge_index must hold both directions"):
        device_graph(index, 20, weight, READING, index)
    plain = Reading(normalization="none")
    none = device_graph(INDEX, 20, None, plain, INDEX)
    assert none.normalization == "none"
    assert device_graph(INDEX, 21, None, plain, INDEX).num_nodes == 21
    assert device_graph(INDEX, 20, WEIGHT, plain, INDEX) != none


def test_strengths_look_once(monkeypatch):
    graph, reads = Graph.from_edge_index(INDEX, 20), ValueReads(monkeypatch)
    index = torch.cat([INDEX, torch.tensor([[4], [4]])], 1)
    values = torch.linspace(0, 1, index.shape[1])
    merged, count = reads.during(lambda: merged_values(graph, index, values, "edge_strength"))
    assert count == 1
    count = graph.num_edges
    torch.testing.assert_close(merged, (values[:count] + values[count : 2 * count]) / 2)


def test_an_entry_dies_with_its_edge_list():
    index = INDEX.clone()
    device_graph(index, 20, None, READING, index)
    before = len(device_input._built)
    del index
    gc.collect()
    assert len(device_input._built) == before - 1


def test_the_layer_takes_this_way_off_the_cpu(monkeypatch):
    from elasticgnn.nn import graph_input

    taken = []
    monkeypatch.setattr(graph_input, "device_graph", lambda *given: taken.append(given))
    index = torch.empty(2, 4, dtype=torch.int64, device="meta")
    monkeypatch.setattr(torch.Tensor, "is_meta", False, raising=False)
    graph_input.as_graph(index, 3)
    assert len(taken) == 1
