"""Kept scratch: the same memory again, whatever it holds, and never for two threads at once."""

import threading
from pathlib import Path

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.operator.saved_rows import SavedRows
from marks import needs_kernels
from strategies import normal_rows, random_graph

PENALTY = ElasticPenalty(0.4, 1.5)
pytestmark = needs_kernels


@pytest.fixture(autouse=True)
def no_scratch():
    native.scratch_clear()
    yield
    native.scratch_clear()


def call(width=7, nodes=60):
    elastic_message_passing(normal_rows(nodes, width).float(), random_graph(nodes, 200), PENALTY, 2)


def test_a_buffer_is_used_again():
    call(width=40)
    before = native.scratch_bytes()
    call(width=3)
    assert native.scratch_bytes() == before > 0


def test_a_larger_call_replaces_the_buffer():
    call(width=3)
    before = native.scratch_bytes()
    call(width=40)
    assert native.scratch_bytes() > before


def test_scratch_beyond_the_most_that_may_be_lent_is_not_kept(monkeypatch):
    monkeypatch.setattr(native.tuning, "reclaimable_bytes", 1 << 26)
    call(width=200, nodes=100_000)
    assert native.scratch_most() > 1 << 26
    assert native.scratch_bytes() == 0


def held_bytes():
    """Memory of this process that the system may not take back without a word."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:]}
    return (kilobytes["Rss"] - kilobytes["LazyFree"]) << 10


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux alone tells it")
def test_large_scratch_is_kept_and_lent_to_the_system():
    call(width=40, nodes=100_000)  # what the allocator keeps of it is there from now on
    native.scratch_clear()
    before = held_bytes()
    call(width=40, nodes=100_000)  # beyond 32 MB
    assert native.scratch_bytes() >= native.scratch_most() > 1 << 25
    assert held_bytes() - before < native.scratch_most() / 2


def test_each_thread_has_its_own():
    call()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(native.scratch_bytes()))
    thread.start()
    thread.join()
    assert seen == [0]
    assert native.scratch_bytes() > 0


ROUTES = {
    "packed": ((60, 7), "fast", torch.float32),
    "packed, lean": ((60, 7), "lean", torch.float32),
    "wide": ((60, 40), "fast", torch.float32),
    "wide, lean": ((60, 40), "lean", torch.float64),
    "runs": ((60, 3, 5), "fast", torch.float64),
    "population": ((60, 16, 5), "fast", torch.float32),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("lambda1", [0.0, 0.4])
def test_what_the_scratch_held_does_not_matter(route, weighted, lambda1):
    shape, memory, dtype = ROUTES[route]
    graph = random_graph(60, 200, weighted=weighted)
    penalty = ElasticPenalty(lambda1, 1.5)

    def run():
        x = normal_rows(*shape).to(dtype).requires_grad_()
        with torch.no_grad():
            alone = elastic_message_passing(x, graph, penalty, 5)
        out = elastic_message_passing(x, graph, penalty, 5, memory=memory)
        return alone, out.detach(), torch.autograd.grad(out.square().sum(), x)[0]

    run()
    before = run()
    assert native.scratch_bytes() > 0
    native.scratch_fill(255)  # every float32 and float64 is NaN
    for left, right in zip(before, run(), strict=True):
        assert torch.equal(left, right)


def test_a_call_that_fails_gives_its_scratch_back(monkeypatch):
    def no_memory(count):
        raise MemoryError("no memory for the rows")

    x = normal_rows(4000, 40).requires_grad_()
    graph = random_graph(4000, 9000)
    wanted = ElasticPenalty(0.01, 1.0)
    monkeypatch.setattr(SavedRows, "more", lambda self, count: no_memory(count))
    with pytest.raises(MemoryError):
        elastic_message_passing(x, graph, wanted, 5)
    assert native.scratch_bytes() > 0
