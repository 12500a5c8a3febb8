"""Models: equal to torch_geometric's on dense features, same output for every form of input."""

from dataclasses import replace

import pytest
import torch
import torch_geometric.nn as pyg

from elasticgnn import ElasticPenalty
from elasticgnn.features import DropoutNoise
from elasticgnn.nn import (
    GCN,
    MLP,
    MODEL_NAMES,
    ElasticGNN,
    FeatureLinear,
    ModelSettings,
    build_model,
)
from elasticgnn.nn.build import build_weights
from training_task import small_task

TASK = small_task()
X, GRAPH = TASK.features, TASK.graph
DENSE = X.to_dense()
INDEX, WEIGHT = GRAPH.to_edge_index()


def built(name, **settings):
    generator = torch.Generator().manual_seed(1)
    return build_model(ModelSettings(name, **settings), X.shape[1], 3, generator)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_sparse_and_dense_features_give_the_same(name):
    model = built(name).eval()
    torch.testing.assert_close(model(X, GRAPH), model(DENSE, GRAPH))


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_graph_and_edge_index_give_the_same(name):
    model = built(name).eval()
    torch.testing.assert_close(model(X, GRAPH), model(X, INDEX))
    torch.testing.assert_close(model(X, GRAPH), model(X, INDEX, WEIGHT.float()))


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_training_needs_nothing_but_the_module(name):
    model = built(name).train()
    loss = torch.nn.functional.cross_entropy(model(X, GRAPH), TASK.labels)
    loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_same_noise_same_output_other_noise_another(name):
    model = built(name).train()
    one, again, other = (model(X, GRAPH, noise=DropoutNoise(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("sizes", [(40, 64, 7), (5, 3, 2), (16, 8, 33)])
def test_gcn_starts_where_layers_of_torch_geometric_start(sizes):
    inputs, hidden, outputs = sizes
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(4)
        model, after = GCN(*sizes), torch.rand(1)
        torch.default_generator.manual_seed(4)
        pyg.GCNConv(hidden, hidden)
        second = pyg.GCNConv(hidden, outputs)
        linear = FeatureLinear(inputs, hidden, bias=False, glorot=True)
        assert torch.equal(after, torch.rand(1))
    assert torch.equal(model.linear.weight, linear.weight)
    assert torch.equal(model.second.lin.weight, second.lin.weight)
    assert not model.first.bias.any()
    assert not model.second.bias.any()


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_weights_drawn_alone_are_those_of_the_model(name):
    sizes = X.shape[1], 3
    drawn = build_weights(ModelSettings(name), *sizes, torch.Generator().manual_seed(1))
    expected = built(name).state_dict()
    assert drawn.keys() == expected.keys()
    assert all(torch.equal(drawn[key], value) for key, value in expected.items())


@pytest.mark.parametrize("name", ["elastic", "appnp", "gcn", "sgc", "cheb"])
def test_gradient_reaches_the_edge_weights(name):
    model = built(name).eval()
    weight = GRAPH.weight.float().requires_grad_()
    model(X, GRAPH.with_weight(weight)).square().sum().backward()
    assert float(weight.grad.abs().max()) > 0


def test_gcn_is_two_gcn_convolutions():
    model = built("gcn").eval()
    first = pyg.GCNConv(X.shape[1], 64)
    with torch.no_grad():
        first.lin.weight.copy_(model.linear.weight.T)
        first.bias.copy_(model.first.bias)
    expected = model.second(first(DENSE, INDEX).relu(), INDEX)
    torch.testing.assert_close(model(X, GRAPH), expected)


def test_gat_is_two_gat_convolutions():
    model = built("gat").eval()
    first = pyg.GATConv(X.shape[1], 8, 8)
    with torch.no_grad():
        first.lin.weight.copy_(model.linear.weight.T)
        for part in ("att_src", "att_dst", "bias"):
            getattr(first, part).copy_(getattr(model.first, part))
    expected = model.second(torch.nn.functional.elu(first(DENSE, INDEX)), INDEX)
    torch.testing.assert_close(model(X, GRAPH), expected)


def test_sage_is_two_sage_convolutions():
    model = built("sage").eval()
    first = pyg.SAGEConv(X.shape[1], 64)
    neighbours, own = model.linear.weight.T.chunk(2)
    with torch.no_grad():
        first.lin_l.weight.copy_(neighbours)
        first.lin_l.bias.copy_(model.linear.bias[64:])
        first.lin_r.weight.copy_(own)
        # A node's mean carries the neighbours' bias only if it has neighbours.
        model.linear.bias[:64] = 0
    expected = model.second(first(DENSE, INDEX).relu(), INDEX)
    torch.testing.assert_close(model(X, GRAPH), expected)


def test_chebnet_is_two_cheb_convolutions():
    model = built("cheb").eval()
    first = pyg.ChebConv(X.shape[1], 64, K=2)
    weights = model.linear.weight.T.chunk(2)
    with torch.no_grad():
        for linear, weight in zip(first.lins, weights, strict=True):
            linear.weight.copy_(weight)
        model.linear.bias.zero_()
        first.bias.zero_()
    expected = model.second(first(DENSE, INDEX).relu(), INDEX)
    torch.testing.assert_close(model(X, GRAPH), expected, rtol=1e-4, atol=1e-5)


def test_sgc_is_sg_convolution():
    model = built("sgc").eval()
    whole = pyg.SGConv(X.shape[1], 3, 2, bias=False)
    with torch.no_grad():
        whole.lin.weight.copy_(model.linear.weight.T)
        model.linear.bias.zero_()
    torch.testing.assert_close(model(X, GRAPH), whole(DENSE, INDEX), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["gcn", "sgc", "sage", "cheb"])
def test_a_prepared_graph_changes_nothing(name, weighted):
    edges = torch.stack([GRAPH.tail, GRAPH.head], 1)
    graph = GRAPH.with_edges_flipped(edges[GRAPH.tail == 0])  # node 0 is alone
    if weighted:
        graph = graph.with_weight(torch.linspace(0.5, 2, graph.num_edges, dtype=torch.float64))
    model, noise = built(name).train(), DropoutNoise(3)
    prepared = model.prepare(graph)
    assert prepared is not graph
    outputs = [model(X, form, noise=noise) for form in (prepared, graph)]
    torch.testing.assert_close(*outputs, rtol=1e-4, atol=1e-6)
    mine, theirs = (
        torch.autograd.grad(output.square().sum(), list(model.parameters())) for output in outputs
    )
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def test_appnp_is_elastic_without_lambda1():
    appnp = built("appnp", alpha=0.2).eval()
    elastic = ElasticGNN(X.shape[1], 64, 3, penalty=ElasticPenalty(0.0, 4.0)).eval()
    elastic.backbone.load_state_dict(appnp.backbone.state_dict())
    torch.testing.assert_close(appnp(X, GRAPH), elastic(X, GRAPH))


def test_elastic_without_steps_is_its_backbone():
    model = built("elastic", steps=0).eval()
    torch.testing.assert_close(model(X, GRAPH), model.logits(X))


def test_mlp_is_two_linear_layers_with_dropout_before_each():
    model = MLP(X.shape[1], 16, 3, dropout=0.5).train()
    noise = DropoutNoise(9)
    keep = noise.keep(X.num_values, 0.5, 0)
    dropped = X.with_value(2 * X.value * keep).to_dense()
    hidden = (dropped @ model.first.weight + model.first.bias).relu()
    hidden = hidden * noise.keep(hidden.numel(), 0.5, 1).view_as(hidden) * 2
    torch.testing.assert_close(model(X, noise=noise), model.others[0](hidden))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "transformer"}, "name must be one of"),
        ({"hidden_channels": 0}, "hidden_channels and num_layers must be >= 1"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\)"),
        ({"alpha": 1.5}, r"alpha must be in \[0, 1\]"),
        ({"name": "gcn", "num_layers": 3}, "num_layers must be 2"),
        ({"name": "gat", "hidden_channels": 20}, "hidden_channels must be a multiple of heads"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(ModelSettings(), **change)


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_reset_begins_anew(name):
    model = built(name)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.reset_parameters()
    weights = [key for key, value in before.items() if value.ndim > 1]
    assert weights
    assert not any(torch.equal(before[key], model.state_dict()[key]) for key in weights)


def test_reset_reaches_the_parts_of_a_backbone_that_has_no_reset_of_its_own():
    linear = torch.nn.Linear(X.shape[1], 3)
    model = ElasticGNN(X.shape[1], 8, 3, backbone=torch.nn.Sequential(linear, torch.nn.ReLU()))
    before = linear.weight.detach().clone()
    model.reset_parameters()
    assert not torch.equal(before, linear.weight)


def test_elastic_takes_the_parts_of_its_penalty_and_the_name_edge_index():
    parts = ElasticGNN(X.shape[1], 8, 3, lambda1=0.5, norm="mcp", concavity=9.0, learnable=True)
    assert parts.propagation.initial == ElasticPenalty(0.5, 3.0, "mcp", 9.0)
    assert any(name.endswith("log_lambda") for name, _ in parts.named_parameters())
    index = TASK.graph.to_edge_index()[0]
    parts.eval()
    assert torch.equal(parts(X, edge_index=index), parts(X, index))
    with pytest.raises(ValueError, match="graph or edge_index must be given, and not both"):
        parts(X, TASK.graph, edge_index=index)
    with pytest.raises(ValueError, match=r"got both: \['lambda1'\]"):
        ElasticGNN(X.shape[1], 8, 3, penalty=ElasticPenalty(), lambda1=0.5)
