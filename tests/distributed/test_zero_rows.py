"""Large arrays of rows: zeros, apart from each other, given back, and of no effect on results."""

import gc
from pathlib import Path

import pytest
import torch

from distributed_work import rows_of, small_graph
from elasticgnn import ElasticPenalty
from elasticgnn.distributed import DistributedGraph, elastic_message_passing, partition, zero_rows

WIDE = 1 << 10


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("more", [0, 1])  # the first size is the last that torch hands out
def test_rows_are_zeros_in_memory_of_their_own(dtype, more):
    count = zero_rows.MAPPED // (WIDE * dtype.itemsize) + more
    one, two = (zero_rows.zero_rows(count, WIDE, dtype) for _ in range(2))
    assert one.shape == (count, WIDE)
    assert one.dtype == dtype
    one += 1
    assert not two.any()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the proc file system")
def test_memory_goes_back_with_the_last_row():
    before = resident_bytes()
    rows = zero_rows.zero_rows(4 * zero_rows.MAPPED // WIDE // 4, WIDE, torch.float32)
    rows.fill_(1)
    last = rows[-1]
    del rows
    assert resident_bytes() - before > 3 * zero_rows.MAPPED
    del last
    gc.collect()
    assert resident_bytes() - before < zero_rows.MAPPED


def test_results_do_not_depend_on_where_rows_lie(monkeypatch):
    graph = small_graph(weighted=True)
    held = DistributedGraph.from_graph(graph, partition(graph, 3, method="blocks"))

    def found():
        x = rows_of(graph.num_nodes, 5, 0)[held.nodes].requires_grad_()
        signal = elastic_message_passing(x, held, ElasticPenalty(0.3, 2.0), 4)
        return signal, *torch.autograd.grad(signal.square().sum(), x)

    expected = found()
    monkeypatch.setattr(zero_rows, "MAPPED", 0)
    for rows, other in zip(expected, found(), strict=True):
        assert torch.equal(rows, other)
