"""The layer: one result for every form of graph, torch_geometric's habits, attackable."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric.contrib.nn import PRBCDAttack
from torch_geometric.nn import APPNP, Sequential

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.nn import EMP, ElasticGNN
from strategies import normal_rows, random_graph

GRAPH = random_graph(20, 50)
X = normal_rows(20, 3, dtype=torch.float32)
INDEX = GRAPH.to_edge_index()[0]


def test_every_form_of_graph_gives_the_same_rows():
    index, _ = GRAPH.to_edge_index()
    layer = EMP(K=4)
    expected = elastic_message_passing(X, GRAPH, ElasticPenalty(), 4)
    for form in (GRAPH, index, GRAPH.to_torch_sparse(), GRAPH.to_torch_sparse(torch.sparse_coo)):
        assert torch.equal(layer(X, form), expected)
    weighted = layer(X, index, torch.ones(index.shape[1]))
    torch.testing.assert_close(weighted, expected)


def test_layer_works_inside_a_torch_geometric_sequential():
    index, _ = GRAPH.to_edge_index()
    model = Sequential(
        "x, edge_index", [(nn.Linear(3, 2), "x -> x"), (EMP(K=3), "x, edge_index -> x")]
    )
    assert model(X, index).shape == (20, 2)


def test_a_second_graph_never_gets_the_first_ones_result():
    layer, other = EMP(K=3), random_graph(20, 30, seed=1)
    first, second = GRAPH.to_edge_index()[0], other.to_edge_index()[0]
    assert torch.equal(layer(X, first), layer(X, GRAPH))
    assert torch.equal(layer(X, second), layer(X, other))
    changed = first.clone()
    layer(X, changed)
    changed.resize_(2, second.shape[1]).copy_(second)
    assert torch.equal(layer(X, changed), layer(X, other))


def test_learnable_strengths_start_as_given_move_and_come_back():
    layer = EMP(K=3, lambda1=0.4, lambda2=2.0, learnable=True)
    torch.testing.assert_close(layer(X, GRAPH), EMP(K=3, lambda1=0.4, lambda2=2.0)(X, GRAPH))
    layer(X, GRAPH).square().sum().backward()
    assert bool((layer.log_lambda.grad != 0).all())
    with torch.no_grad():
        layer.log_lambda -= 5.0
    assert layer.penalty.strengths[0] > 0
    layer.reset_parameters()
    assert layer.penalty.strengths[1] == pytest.approx(2.0)


def test_repr_reads_like_the_call():
    assert repr(EMP(K=5)) == (
        "EMP(K=5, lambda1=3, lambda2=3, norm='l21', learnable=False, dropout=0)"
    )


def test_dropout_acts_only_while_training():
    layer = EMP(K=2, dropout=0.5)
    torch.manual_seed(0)
    assert not torch.equal(layer(X, GRAPH), EMP(K=2)(X, GRAPH))
    assert torch.equal(layer.eval()(X, GRAPH), EMP(K=2)(X, GRAPH))


def test_torch_geometric_prbcd_attacks_the_layer_through_edge_weight():
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.emp = nn.Linear(3, 2), EMP(K=5, lambda1=0.1, lambda2=3.0)

        def forward(self, x, edge_index, edge_weight=None):
            return self.emp(self.linear(x), edge_index, edge_weight)

    torch.manual_seed(0)
    model = Classifier()
    index, _ = GRAPH.to_edge_index()
    labels = model(X, index).argmax(1)
    attack = PRBCDAttack(model, block_size=60, epochs=8, epochs_resampling=4, log=False)
    perturbed, flips = attack.attack(X, index, labels, budget=8)
    assert flips.shape[1] > 0
    assert (model(X, perturbed).argmax(1) == labels).float().mean() < 1.0


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_the_gradient_reaches_the_values_of_a_sparse_adjacency(layout):
    weighted = random_graph(20, 50, weighted=True)
    index, weight = weighted.to_edge_index()
    weight = weight.float()
    expected, found = (weight.clone().requires_grad_() for _ in range(2))
    EMP(K=3, lambda1=0.1)(X, index, expected).square().sum().backward()
    matrix = torch.sparse_coo_tensor(index, found, (20, 20)).to_sparse(layout=layout)
    EMP(K=3, lambda1=0.1)(X, matrix).square().sum().backward()
    torch.testing.assert_close(found.grad, expected.grad)


def test_a_static_batch_is_read_as_torch_geometric_reads_it():
    x = normal_rows(4, 20, 3, dtype=torch.float32)
    expected = APPNP(K=5, alpha=0.25)(x, INDEX)
    torch.testing.assert_close(EMP(K=5, lambda1=0.0, lambda2=3.0)(x, INDEX), expected)
    layer = EMP(K=5, lambda1=0.4)
    together = layer(x[None], INDEX)[0]
    for one, row in zip(x, together, strict=True):
        torch.testing.assert_close(layer(one, INDEX), row)


@pytest.mark.parametrize(
    "build",
    [
        lambda one, two: EMP(K=3, lambda1=one, lambda2=two),
        lambda one, two: ElasticGNN(3, 4, 2, penalty=ElasticPenalty(one, two), K=3, dropout=0.0),
    ],
)
def test_a_parameter_inside_a_penalty_is_trained(build):
    one, two = (nn.Parameter(torch.tensor(value)) for value in (0.2, 1.5))
    model = build(one, two)
    assert any(parameter is one for parameter in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model(X, INDEX).square().sum().backward()
    optimizer.step()
    assert one.item() != pytest.approx(0.2)
    assert model.penalty.strengths == (one.item(), two.item())
    moved = copy.deepcopy(model)
    assert moved.penalty.lambda1 is not one
    torch.testing.assert_close(moved(X, INDEX), model(X, INDEX))


def changed_through_data(index, other):
    index.data.copy_(other)


def changed_through_numpy(index, other):
    index.numpy()[:] = other.numpy()


@pytest.mark.parametrize("change", [changed_through_data, changed_through_numpy])
def test_an_edge_list_changed_behind_torchs_back_is_noticed(change):
    layer, index, order = EMP(K=3), INDEX.clone(), torch.randperm(20)
    other = order[INDEX]
    layer(X, index)
    change(index, other)
    assert torch.equal(layer(X, index), EMP(K=3)(X, other.clone()))


def test_a_graph_is_built_once_for_fixed_edges_and_weights(monkeypatch):
    weight = torch.rand(GRAPH.num_edges).repeat(2)
    layer, index, seen = EMP(K=3), INDEX.clone(), []
    run = elastic_message_passing
    monkeypatch.setattr(
        "elasticgnn.nn.emp.elastic_message_passing",
        lambda x, graph, *rest, **options: seen.append(graph) or run(x, graph, *rest, **options),
    )
    for _ in range(2):
        layer(X, index, weight)
    assert seen[0] is seen[1]
    weight.data[0] = weight.data[GRAPH.num_edges] = 7.0
    layer(X, index, weight)
    assert seen[2] is not seen[0]
    torch.testing.assert_close(layer(X, index, weight), EMP(K=3)(X, index.clone(), weight.clone()))


def test_single_directions_are_symmetrised_where_the_layer_is_asked_to():
    half = torch.stack([GRAPH.tail, GRAPH.head])
    layer = EMP(K=3, directed="symmetrize")
    torch.testing.assert_close(layer(X, half), EMP(K=3)(X, INDEX))
    weight = torch.linspace(0.5, 2.0, INDEX.shape[1])
    mean = weight.view(2, -1).mean(0).repeat(2)
    torch.testing.assert_close(layer(X, INDEX, weight), EMP(K=3)(X, INDEX, mean))


def test_repr_works_on_the_meta_device():
    with torch.device("meta"):
        assert "lambda1=0.5" in repr(EMP(lambda1=0.5, learnable=True))
        assert "EMP" in repr(ElasticGNN(3, 4, 2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single_and_comes_back_as_it_was(dtype):
    layer, x = EMP(K=4, lambda1=0.3), X.to(dtype).requires_grad_()
    weight = torch.ones(INDEX.shape[1], dtype=dtype)
    out = layer(x, INDEX, weight)
    assert out.dtype == dtype
    assert torch.equal(out, layer(x.float(), INDEX).to(dtype))
    assert torch.equal(layer(x, INDEX, edge_strength=weight), out)
    out.float().square().sum().backward()
    assert x.grad.dtype == dtype
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(x, INDEX, weight).dtype == torch.float32


def test_the_penalty_travels_in_the_state_dict():
    source = EMP(K=7, lambda1=0.4, lambda2=2.0, norm="mcp", concavity=50.0)
    target = EMP()
    target.load_state_dict(source.state_dict())
    assert (target.K, target.penalty) == (7, source.penalty)
    target.load_state_dict({})  # one of before
    assert target.K == 7


def test_every_option_reaches_the_operator():
    options = {"gamma": 0.2, "beta": 1.5, "memory": "lean", "implementation": "reference"}
    layer = EMP(K=4, lambda1=0.3, lambda2=2.0, norm="scad", concavity=40.0, **options)
    penalty = ElasticPenalty(0.3, 2.0, "scad", 40.0)
    assert torch.equal(layer(X, GRAPH), elastic_message_passing(X, GRAPH, penalty, 4, **options))
    plain = EMP(K=4, lambda1=0.3, normalization="none")(X, INDEX)
    expected = elastic_message_passing(
        X, GRAPH.with_normalization("none"), ElasticPenalty(0.3, 3.0), 4
    )
    assert torch.equal(plain, expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EMP(dropout=1.0), r"dropout must lie in \[0, 1\), got 1.0"),
        (lambda: EMP(lambda1=0.0, learnable=True), "lambda1 must be > 0 to be learnable"),
        (lambda: EMP(K=-1), "K must be an integer >= 0, got -1"),
        (lambda: EMP(K=2.5), "K must be an integer >= 0, got 2.5"),
        (lambda: EMP(memory="thrifty"), "memory must be one of"),
        (lambda: EMP(directed="both"), "directed must be one of"),
        (lambda: EMP(lambda1=torch.tensor(1.0)), "lambda1 must be a number, or a Parameter"),
        (lambda: EMP()(X, [[0, 1], [1, 0]]), r"got list; torch.tensor\(edge_index\) makes one"),
        (lambda: EMP()(X, INDEX.numpy()), "edge_index must be a Graph.*got ndarray"),
        (lambda: EMP()(X, GRAPH.to_pyg()), "got Data; pass its edge_index"),
        (lambda: EMP()(X, GRAPH.to_scipy()), "Graph.from_scipy makes a Graph of it"),
        (lambda: EMP()(X, INDEX, [1.0]), "edge_weight must be a tensor, got list"),
        (lambda: EMP()((X, X), INDEX), "bipartite relations have two, got tuple"),
        (lambda: EMP()(X, INDEX[:, : INDEX.shape[1] // 2]), "take directed='symmetrize'"),
        (lambda: EMP(lambda1=-1.0), "lambda1 must be a number >= 0"),
        (lambda: EMP()(X, Graph.from_edges([(0, 1)])), r"x must be \(2, d\)"),
        (
            lambda: EMP()(X, GRAPH.to_torch_sparse(), torch.ones(3)),
            "edge_weight must be None with a sparse matrix",
        ),
    ],
)
def test_bad_argument_is_refused_by_message(call, message):
    with pytest.raises(ValueError, match=message):
        call()
