"""The layer where torch follows what it does: functionalize, make_fx, linearize, checkpoints."""

import pytest
import torch
from torch.func import functionalize, grad, jvp, linearize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.checkpoint import checkpoint

from elasticgnn.nn import EMP, ElasticGNN
from own_penalties import Huber
from strategies import normal_rows, random_graph

GRAPH = random_graph(12, 25, weighted=True)
INDEX, WEIGHT = GRAPH.to_edge_index()
X = normal_rows(12, 4)
LAYERS = {
    "fixed": lambda: EMP(K=2, lambda1=0.3),
    "learned": lambda: EMP(K=2, learnable=True).double(),
    "channels": lambda: EMP(K=2, learnable="channel", channels=4).double(),
    "own": lambda: EMP(K=2, lambda1=0.3, norm=Huber()),
    "concave": lambda: EMP(K=2, lambda1=0.3, norm="mcp"),
    "network": lambda: ElasticGNN(4, 8, 3, K=2).double().eval(),
}
FORMS = {
    "edge_index": lambda layer: lambda x: layer(x, INDEX),
    "weights": lambda layer: lambda x: layer(x, INDEX, WEIGHT),
    "graph": lambda layer: lambda x: layer(x, GRAPH),
}


@pytest.fixture(params=LAYERS)
def layer(request):
    torch.manual_seed(0)
    return LAYERS[request.param]()


@pytest.fixture(params=FORMS)
def run(request, layer):
    return FORMS[request.param](layer)


def loss(run):
    return lambda x: run(x).pow(3).sum()


def test_functionalize_gives_the_same_value_and_gradient(run):
    torch.testing.assert_close(functionalize(run)(X), run(X))
    torch.testing.assert_close(grad(functionalize(loss(run)))(X), grad(loss(run))(X))


def test_a_record_of_make_fx_serves_other_rows(run):
    torch.testing.assert_close(make_fx(run)(X)(2 * X), run(2 * X))
    torch.testing.assert_close(make_fx(grad(loss(run)))(X)(2 * X), grad(loss(run))(2 * X))


def test_a_symbolic_record_of_make_fx_serves_graphs_of_other_sizes():
    layer = EMP(K=2, lambda1=0.3)
    record = make_fx(layer, tracing_mode="symbolic")(X, INDEX)
    other = random_graph(20, 40)
    rows, index = normal_rows(20, 4), other.to_edge_index()[0]
    torch.testing.assert_close(record(rows, index), layer(rows, index))


# torch's own record names tensors by attributes that it adds afterwards
@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
@pytest.mark.parametrize("form", ["edge_index", "graph"])
def test_linearize_gives_the_slope(form):
    run, direction = FORMS[form](EMP(K=2, lambda1=0.3)), X.cos()
    slope = linearize(run, X)[1](direction)
    torch.testing.assert_close(slope, jvp(run, (X,), (direction,))[1])


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_checkpoint_drops_the_same_edges_again(use_reentrant, form, dtype):
    run = FORMS[form](EMP(K=2, lambda1=0.3, dropout=0.4).train())
    found = []
    for call in (run, lambda x: checkpoint(run, x, use_reentrant=use_reentrant)):
        x = X.to(dtype).requires_grad_()
        torch.manual_seed(3)
        out = call(x)
        torch.manual_seed(99)  # what the backward pass finds
        out.pow(2).sum().backward()
        found.append((out, x.grad))
    for plain, through in zip(*found, strict=True):
        torch.testing.assert_close(through, plain)
