"""A penalty of the user's own: value and proximal map, through operator, layers and certificate."""

import copy

import pytest
import torch
from torch import nn

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.nn import EMP, ElasticGNN
from elasticgnn.operator import elastic_state, explain_route
from elasticgnn.problem import EdgePenalty, certify
from elasticgnn.solver import minimise
from own_penalties import CertifiedHuber, Dent, Huber
from strategies import normal_rows, random_graph

GRAPH = random_graph(7, 12, weighted=True)
X = 2 * normal_rows(7, 2)


def smoothed(x, weight, lambda1, lambda2):
    penalty = ElasticPenalty(lambda1, lambda2, Huber())
    return elastic_message_passing(x, GRAPH, penalty, 4, edge_weight=weight)


def test_first_and_second_gradients_agree_with_finite_differences():
    weight = GRAPH.weight.double().clone()
    strengths = [torch.tensor(s, dtype=torch.float64) for s in (0.4, 1.2)]
    inputs = [value.requires_grad_() for value in (X.clone(), weight, *strengths)]
    assert torch.autograd.gradcheck(smoothed, inputs)
    assert torch.autograd.gradgradcheck(smoothed, inputs)


def test_it_takes_the_plain_route_and_says_why():
    report = explain_route(X, GRAPH, ElasticPenalty(1.0, 1.0, Huber()))
    assert report.taken == "plain"
    assert "the norm 'huber' has no compiled loops" in str(report)
    with pytest.raises(ValueError, match="norm without compiled loops, got 'fused' for 'huber'"):
        elastic_message_passing(X, GRAPH, ElasticPenalty(1.0, 1.0, Huber()), implementation="fused")


def test_layers_take_it_train_through_it_and_restore_it():
    layer = EMP(K=5, lambda1=0.4, lambda2=1.0, norm=Huber(), learnable=True)
    expected = elastic_message_passing(X, GRAPH, ElasticPenalty(0.4, 1.0, Huber()), 5)
    torch.testing.assert_close(layer(X, GRAPH), expected, rtol=1e-6, atol=1e-7)
    assert "norm='huber'" in repr(layer)
    model = ElasticGNN(2, 4, 3, norm=Huber(), lambda1=0.4)
    model(X.float(), GRAPH).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    other = EMP(K=2, norm=Huber(), learnable=True)
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(X, GRAPH), layer(X, GRAPH))


def test_a_layer_of_another_penalty_refuses_its_state():
    with pytest.raises(ValueError, match="norm must be one of"):
        EMP(K=2).load_state_dict(EMP(K=2, norm=Huber()).state_dict())


def test_certificate_closes_with_a_conjugate_and_is_refused_without():
    for lambda2 in (0.0, 0.7):
        penalty = ElasticPenalty(0.5, lambda2, CertifiedHuber())
        state = elastic_state(X, GRAPH, penalty, 4000)
        certificate = certify(state.signal, state.dual, X, GRAPH, penalty)
        assert certificate.scope == "global"
        assert -1e-12 <= certificate.gap <= 1e-8
        early = elastic_state(X, GRAPH, penalty, 3)
        assert certify(early.signal, early.dual, X, GRAPH, penalty).gap > certificate.gap
    with pytest.raises(ValueError, match="penalty with a conjugate for a certificate, got 'huber'"):
        certify(state.signal, state.dual, X, GRAPH, ElasticPenalty(0.5, 0.7, Huber()))
    with pytest.raises(ValueError, match="convex or have a majoriser"):
        certify(state.signal, state.dual, X, GRAPH, ElasticPenalty(0.5, 9.0, Dent()))


def test_solver_and_too_short_steps_refuse_in_words():
    with pytest.raises(ValueError, match=r"norm must be one of \('l21', 'l1'\) for the solver"):
        minimise(X, GRAPH, ElasticPenalty(0.5, 0.0, Huber()))
    with pytest.raises(ValueError, match=r"curvature must be < 0.5 \(beta\) for norm 'dent'"):
        elastic_message_passing(X, GRAPH, ElasticPenalty(0.5, 0.0, Dent()))


def test_a_penalty_without_a_proximal_map_cannot_be_made():
    class Half(EdgePenalty):
        name = "half"

        def value(self, difference, lambda1):
            return difference.sum(-1)

    with pytest.raises(TypeError, match="prox"):
        Half()


class Scaled(Huber):
    """Huber's penalty with a factor of its strength that is trained."""

    def prox(self, point, lambda1, step):
        return super().prox(point, self.factor * lambda1, step)


class ScaledModule(nn.Module, Scaled):
    name = "scaled"

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(0.5, dtype=torch.float64))


@pytest.mark.parametrize(
    "make", [lambda: EMP(3, 0.4, 1.0, ScaledModule()), lambda: network_of(ScaledModule())]
)
def test_parameters_of_a_penalty_are_trained_and_travel(make):
    layer, x, index = make().double(), normal_rows(20, 4), random_graph(20, 40).to_edge_index()[0]
    (name,) = [name for name, _ in layer.named_parameters() if name.endswith("factor")]
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(x, index).pow(2).sum().backward()
    optimizer.step()
    assert layer.get_parameter(name).item() != 0.5
    other = make().double()
    other.load_state_dict(layer.state_dict())
    for same in (other, copy.deepcopy(layer)):
        torch.testing.assert_close(same(x, index), layer(x, index))


def network_of(norm):
    return ElasticGNN(4, 8, 3, norm=norm).eval()


def test_parameters_that_no_module_registers_are_refused():
    norm = Scaled()
    norm.factor = nn.Parameter(torch.tensor(0.5))
    with pytest.raises(ValueError, match=r"norm must be an nn\.Module .* got Scaled with factor"):
        EMP(norm=norm)
