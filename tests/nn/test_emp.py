"""The layer: one result for every form of graph, torch_geometric's habits, attackable."""

import pytest
import torch
from torch import nn
from torch_geometric.contrib.nn import PRBCDAttack
from torch_geometric.nn import Sequential

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.nn import EMP
from strategies import normal_rows, random_graph

GRAPH = random_graph(20, 50)
X = normal_rows(20, 3, dtype=torch.float32)


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


def test_learnable_strengths_start_where_told_move_and_come_back():
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EMP(dropout=1.0), r"dropout must lie in \[0, 1\), got 1.0"),
        (lambda: EMP(lambda1=0.0, learnable=True), "must be > 0 to be learnable"),
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
