"""What the layer can be made of and put into: strengths, the dual, backbones, blocks."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import GCNConv, Sequential

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import EMP, ElasticBlock, ElasticGNN, ElasticStack
from elasticgnn.operator import elastic_state
from strategies import normal_rows, random_graph

GRAPH = random_graph(12, 30)
INDEX = GRAPH.to_edge_index()[0]
X = normal_rows(12, 3)


def test_every_channel_learns_strengths_of_its_own():
    layer = EMP(K=4, lambda1=0.3, lambda2=2.0, learnable="channel", channels=3).double()
    alone = EMP(K=4, lambda1=0.3, lambda2=2.0)
    expected = torch.cat([alone(X[:, [k]], INDEX) for k in range(3)], 1)
    torch.testing.assert_close(layer(X, INDEX), expected)
    with torch.no_grad():
        layer.log_lambda += torch.tensor([[0.1, 0.5, -1.0], [0.0, 0.3, 0.6]])
    lambda1, lambda2 = layer.log_lambda.detach().exp()
    columns = [EMP(4, float(lambda1[k]), float(lambda2[k]))(X[:, [k]], INDEX) for k in range(3)]
    torch.testing.assert_close(layer(X, INDEX), torch.cat(columns, 1))
    batch = torch.stack([X, 2 * X])
    torch.testing.assert_close(layer(batch, INDEX)[1], layer(2 * X, INDEX))
    layer(X, INDEX).square().sum().backward()
    assert bool((layer.log_lambda.grad != 0).all())
    assert "learnable='channel'" in repr(layer)
    layer.reset_parameters()
    torch.testing.assert_close(layer(X, INDEX), expected)


def test_gradcheck_of_channel_strengths():
    layer = EMP(K=3, lambda1=0.3, lambda2=2.0, learnable="channel", channels=3).double()

    def run(x, log_lambda):
        return torch.func.functional_call(layer, {"log_lambda": log_lambda}, (x, GRAPH))

    inputs = (X.clone().requires_grad_(), layer.log_lambda.detach().clone().requires_grad_())
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)


def test_a_strength_per_edge_is_that_of_its_edge():
    strength = torch.linspace(0.0, 2.0, GRAPH.num_edges, dtype=torch.float64)
    penalty = ElasticPenalty(0.3, 2.0)
    ones = elastic_message_passing(X, GRAPH, penalty, 4, edge_strength=torch.ones_like(strength))
    torch.testing.assert_close(ones, elastic_message_passing(X, GRAPH, penalty, 4))
    twice = elastic_message_passing(
        X, GRAPH, penalty, 4, edge_strength=torch.full_like(strength, 2)
    )
    torch.testing.assert_close(
        twice, elastic_message_passing(X, GRAPH, ElasticPenalty(0.6, 2.0), 4)
    )
    state = elastic_state(X, GRAPH, penalty, 30, edge_strength=strength)
    lengths = state.dual.norm(dim=1)
    assert bool((lengths <= 0.3 * strength + 1e-9).all())
    assert int((lengths > 0.3 * strength - 1e-9).sum()) > 1
    layer = EMP(K=4, lambda1=0.3, lambda2=2.0)
    both = layer(X, INDEX, edge_strength=strength.repeat(2))
    expected = elastic_message_passing(X, GRAPH, penalty, 4, edge_strength=strength)
    torch.testing.assert_close(both, expected)
    torch.testing.assert_close(layer(X, GRAPH, edge_strength=strength), expected)
    shuffled = torch.randperm(INDEX.shape[1], generator=torch.Generator().manual_seed(0))
    again = layer(X, INDEX[:, shuffled], edge_strength=strength.repeat(2)[shuffled])
    torch.testing.assert_close(again, expected)


@pytest.mark.parametrize("norm", ["l1", "l21", "mcp"])
def test_gradcheck_of_a_strength_per_edge(norm):
    strength = torch.linspace(0.4, 1.6, GRAPH.num_edges, dtype=torch.float64)
    penalty = ElasticPenalty(0.3, 2.0, norm, 40.0 if norm == "mcp" else None)

    def run(x, strength):
        return elastic_message_passing(x, GRAPH, penalty, 3, edge_strength=strength)

    inputs = (X.clone().requires_grad_(), strength.requires_grad_())
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True)
    assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("learnable", [False, "channel"])
def test_the_dual_comes_back_on_request(learnable):
    channels = {"channels": 3} if learnable else {}
    layer = EMP(K=5, lambda1=0.3, learnable=learnable, **channels).double()
    found = layer(X, INDEX, return_dual=True)
    torch.testing.assert_close(found.signal, layer(X, INDEX))
    assert torch.equal(found.edge_index, torch.stack([GRAPH.tail, GRAPH.head]))
    if not learnable:
        expected = elastic_state(X, GRAPH, layer.penalty, 5)
        torch.testing.assert_close(found.dual, expected.dual)
    batch = layer(torch.stack([X, 2 * X]), GRAPH, return_dual=True)
    torch.testing.assert_close(batch.dual[0], found.dual)
    torch.testing.assert_close(batch.signal[1], layer(2 * X, GRAPH))

    def dual_of(x):
        return layer(x, GRAPH, return_dual=True).dual

    assert torch.autograd.gradcheck(dual_of, (X.clone().requires_grad_(),), fast_mode=True)


def test_a_backbone_may_see_the_graph():
    torch.manual_seed(0)
    convolution = GCNConv(3, 2).double()
    model = ElasticGNN(3, 0, 2, backbone=convolution, penalty=ElasticPenalty(0.2, 1.0), K=4)
    expected = model.propagation(convolution(X, INDEX), INDEX)
    torch.testing.assert_close(model(X, INDEX), expected)
    torch.testing.assert_close(model(X, GRAPH), expected)
    features = SparseFeatures.from_dense(X)
    torch.testing.assert_close(model(features, edge_index=INDEX), expected)
    weighted = random_graph(12, 30, weighted=True)
    index, weight = weighted.to_edge_index()
    by_hand = model.propagation(convolution(X, index, weight), index, weight)
    torch.testing.assert_close(model(X, weighted), by_hand)
    torch.testing.assert_close(model(X, index, weight), by_hand)
    torch.testing.assert_close(model(X, GRAPH, weighted.weight), by_hand)
    with pytest.raises(ValueError, match="without a graph"):
        model.logits(X)
    steps = [(GCNConv(3, 4).double(), "x, edge_index -> x"), nn.ReLU(), nn.Linear(4, 2).double()]
    deep = ElasticGNN(3, 0, 2, backbone=Sequential("x, edge_index", steps), K=2)
    assert deep(X, INDEX).shape == (12, 2)
    with pytest.raises(ValueError, match="backbone must take an edge_weight"):
        deep(X, weighted)


def test_a_block_is_its_formula():
    torch.manual_seed(0)
    block = ElasticBlock(3, 5, ElasticPenalty(0.2, 1.0), K=3, activation="tanh").double()
    hidden = elastic_message_passing(block.linear(X), GRAPH, ElasticPenalty(0.2, 1.0), 3)
    expected = hidden.tanh() + block.shortcut(X)
    torch.testing.assert_close(block(X, INDEX), expected)
    same = ElasticBlock(3, 3, K=2, residual=True, activation="none").double()
    torch.testing.assert_close(same(X, GRAPH) - X, same.propagation(same.linear(X), GRAPH))
    parameters = dict(block.named_parameters())

    def run(*values):
        named = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(block, named, (X, GRAPH))

    assert torch.autograd.gradcheck(run, tuple(parameters.values()), fast_mode=True)


@pytest.mark.parametrize("jump", ["last", "cat", "max"])
def test_a_stack_joins_its_blocks(jump):
    torch.manual_seed(0)
    model = ElasticStack(3, 4, 2, 3, jump=jump, dropout=0.0, learnable="channel").double()
    rows, x = [], X
    for block in model.blocks:
        x = block(x, GRAPH)
        rows.append(x)
    seen = {"last": x, "cat": torch.cat(rows, 1), "max": torch.stack(rows).max(0).values}[jump]
    torch.testing.assert_close(model(X, INDEX), model.readout(seen))
    model(X, INDEX).square().sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    before = model(X, INDEX)
    model.reset_parameters()
    assert not torch.equal(model(X, INDEX), before)


@pytest.mark.parametrize("graph", [INDEX, GRAPH], ids=["edge_index", "Graph"])
def test_a_recorded_layer_serves_other_rows(graph):
    layer = EMP(K=4, lambda1=0.3)
    if isinstance(graph, Graph):
        graph = Graph.from_edge_index(INDEX, graph.num_nodes)  # one that remembers nothing yet
        recorded = torch.jit.trace(lambda x: layer(x, graph), (X,))
        torch.testing.assert_close(recorded(2 * X), layer(2 * X, graph))
        return
    recorded = torch.jit.trace(layer, (X, graph))
    other, x = random_graph(20, 40, seed=3), normal_rows(20, 3)
    index = other.to_edge_index()[0]
    torch.testing.assert_close(recorded(x, index), layer(x, index))
    x.requires_grad_()
    found = torch.autograd.grad(recorded(x, index).pow(3).sum(), x)[0]
    torch.testing.assert_close(found, torch.autograd.grad(layer(x, index).pow(3).sum(), x)[0])
    with pytest.raises(torch.jit.Error, match="both directions"):
        recorded(x, index[:, : index.shape[1] // 2])


@pytest.mark.parametrize("way", ["script", "vmap"])
def test_a_hub_of_many_float32_weights_is_scaled_as_by_a_graph(way):
    leaves = torch.arange(1, 300_001)
    edges = torch.stack([torch.zeros_like(leaves), leaves])
    index, weight = torch.cat([edges, edges.flip(0)], 1), torch.full((600_000,), 0.1)
    x = torch.zeros(300_001, 1)
    x[0] = 1000.0
    layer = EMP(K=1, lambda1=0.0, lambda2=1.0)
    if way == "script":
        found = torch.jit.script(layer)(x, index, weight)
    else:
        found = torch.vmap(layer, (None, 0, None))(x, index[None], weight)[0]
    # what a leaf gets from the hub is scaled by the hub's degree, the only long sum in it
    expected = layer(x.double(), index, weight.double())
    torch.testing.assert_close(found[1:], expected[1:].float())


@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_a_scripted_layer_gives_the_same(norm):
    layer = EMP(K=4, lambda1=0.3, norm=norm)
    scripted = torch.jit.script(layer)
    weighted = random_graph(12, 30, weighted=True)
    index, weight = weighted.to_edge_index()
    torch.testing.assert_close(scripted(X, index, weight), layer(X, index, weight))
    torch.testing.assert_close(scripted(X.float(), INDEX), layer(X.float(), INDEX))
    batch = torch.stack([X, 2 * X])
    torch.testing.assert_close(scripted(batch, INDEX), layer(batch, INDEX))
    x = X.clone().requires_grad_()
    found = torch.autograd.grad(scripted(x, INDEX).pow(3).sum(), x)[0]
    torch.testing.assert_close(found, torch.autograd.grad(layer(x, INDEX).pow(3).sum(), x)[0])
    with pytest.raises(torch.jit.Error, match="both directions"):
        scripted(X, INDEX[:, : INDEX.shape[1] // 2])
    with pytest.raises(NotImplementedError, match=r"torch\.compile and torch\.export take all"):
        torch.jit.script(EMP(learnable=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EMP(learnable="edge"), "learnable must be one of"),
        (lambda: EMP(learnable="channel"), "channels must be given where learnable is 'channel'"),
        (lambda: EMP(channels=3), "channels must be given where learnable is 'channel'"),
        (
            lambda: EMP(learnable="channel", channels=2)(X, INDEX),
            "x must have 2 channels, got 3",
        ),
        (
            lambda: EMP()(X, INDEX, edge_strength=-torch.ones(INDEX.shape[1])),
            "edge_strength must be finite and >= 0",
        ),
        (
            lambda: EMP(implementation="fused")(
                X, GRAPH, edge_strength=torch.ones(GRAPH.num_edges)
            ),
            "a strength per edge has no compiled loops",
        ),
        (lambda: ElasticBlock(3, 3, activation="swish"), "activation must be one of"),
        (lambda: ElasticStack(3, 3, 2, jump="sum"), "jump must be one of"),
    ],
)
def test_bad_parts_are_refused_by_message(call, message):
    with pytest.raises(ValueError, match=message):
        call()
