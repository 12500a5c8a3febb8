"""Kept scratch: the same memory again, whatever it holds, and never for two calls at once."""

import threading

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.operator import workspace as module
from elasticgnn.operator.workspace import workspace
from marks import needs_kernels
from strategies import normal_rows, random_graph

PENALTY = ElasticPenalty(0.4, 1.5)


@pytest.fixture(autouse=True)
def empty_workspace():
    workspace.clear()
    yield
    workspace.clear()


def test_a_buffer_is_lent_again():
    first = workspace.take(1000)
    workspace.give(first)
    assert workspace.take(10) is first


def test_a_call_within_a_call_gets_other_memory():
    workspace.give(workspace.take(1000))
    outer, inner = workspace.take(100), workspace.take(100)
    assert outer.data_ptr() != inner.data_ptr()


def test_a_larger_wish_replaces_the_buffer():
    workspace.give(workspace.take(10))
    assert len(workspace.take(1000)) >= 1000


def test_large_scratch_is_not_kept(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 100)
    workspace.give(workspace.take(101))
    assert workspace.kept is None


def test_each_thread_has_its_own():
    workspace.give(workspace.take(100))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(workspace.kept))
    thread.start()
    thread.join()
    assert seen == [None]
    assert workspace.kept is not None


def test_scratch_lies_in_main_memory_whatever_the_default_device():
    with torch.device("meta"):
        assert workspace.take(10).device.type == "cpu"


ROUTES = {
    "packed": ((60, 7), "fast", torch.float32),
    "packed, lean": ((60, 7), "lean", torch.float32),
    "wide": ((60, 40), "fast", torch.float32),
    "wide, lean": ((60, 40), "lean", torch.float64),
    "runs": ((60, 3, 5), "fast", torch.float64),
    "population": ((60, 16, 5), "fast", torch.float32),
}


@needs_kernels
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
    assert workspace.kept is not None
    workspace.kept.fill_(255)  # every float32 and float64 is NaN
    for left, right in zip(before, run(), strict=True):
        assert torch.equal(left, right)


@needs_kernels
def test_a_call_that_fails_gives_its_scratch_back(scarce_memory):
    x = normal_rows(4000, 40).requires_grad_()
    with pytest.raises(MemoryError):
        elastic_message_passing(x, random_graph(4000, 9000), ElasticPenalty(0.01, 1.0), 5)
    assert workspace.kept is not None
