"""What the plain route's steps cost on a device: dispatched operations and saved memory."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elasticgnn import Graph
from elasticgnn.operator import request
from elasticgnn.problem import PENALTIES
from own_penalties import Huber
from plain_calls import DIFFERENTIATED, NORMS, arguments, smoothed
from strategies import normal_rows, random_graph


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch):
    """As on a device: no compiled loop serves the call."""
    monkeypatch.setattr(request, "native", None)
    monkeypatch.setattr(request, "warn_once_if_missing", lambda: None)


class Count(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations += 1
        return function(*args, **(kwargs or {}))


def operations(steps, norm, differentiated):
    """Operations of the forward and of the backward pass."""
    graph = random_graph(30, 90, weighted=True)
    given = arguments(graph, differentiated)
    with Count() as forward:
        out = smoothed(given, graph, norm, steps)
    with Count() as backward:
        out.backward(torch.ones_like(out))
    return forward.operations, backward.operations


def operations_of_the_map(differentiated):
    """Those of an own penalty's map and of its differentiation by torch."""
    everything = differentiated != ("x",)
    rows = normal_rows(90, 4)[:, None].requires_grad_()
    sizes = [torch.tensor([[v]]).double().requires_grad_(everything) for v in (0.4, 0.7)]
    with Count() as forward:
        out = Huber().project(rows, *sizes)
    with Count() as backward:
        torch.autograd.grad(out, [rows, *sizes] if everything else [rows], torch.ones_like(out))
    return forward.operations, backward.operations


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("differentiated", DIFFERENTIATED)
def test_a_step_takes_at_most_20_operations_and_25_back(norm, differentiated):
    few, more = operations(4, norm, differentiated), operations(12, norm, differentiated)
    own = operations_of_the_map(differentiated) if norm == "own" else (0, 0)
    assert (more[0] - few[0]) / 8 <= 20 + own[0]
    assert (more[1] - few[1]) / 8 <= 25 + own[0] + own[1]  # the map is computed again


@pytest.mark.parametrize("norm", [*PENALTIES])
def test_a_step_within_torch_func_takes_as_few(norm):
    graph = random_graph(30, 90, weighted=True)

    def count(steps):
        given = arguments(graph, ())

        def value(x, weight, lambda1):
            parts = {**given, "x": x, "weight": weight, "lambda1": lambda1}
            return smoothed(parts, graph, norm, steps).sum()

        with Count() as counted:
            torch.func.grad(value, (0, 1, 2))(given["x"], given["weight"], given["lambda1"])
        return counted.operations

    assert (count(12) - count(4)) / 8 <= 45


RING = torch.stack([torch.arange(300), (torch.arange(300) + 1) % 300])
SPARSE_GRAPHS = {
    "ring": Graph.from_edge_index(RING, undirected=True),
    "pairs": Graph.from_edge_index(torch.arange(600).view(2, 300), undirected=True),
    "mostly without edges": Graph.from_edge_index(RING, 5000, undirected=True),
}


@pytest.mark.parametrize("graph", SPARSE_GRAPHS.values(), ids=SPARSE_GRAPHS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("differentiated", DIFFERENTIATED)
def test_what_is_kept_of_a_step_is_at_most_three_duals(norm, differentiated, graph):
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    def bytes_kept(steps):
        kept.clear()
        given = arguments(graph, differentiated)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            out = smoothed(given, graph, norm, steps)
        assert out.requires_grad
        return sum(kept.values())

    dual = graph.num_edges * 4 * 8
    assert dual <= (bytes_kept(9) - bytes_kept(3)) / 6 <= 3 * dual
