"""The layer after torch's own tools changed it: parametrizations, pruning, replicas, attributes."""

import gc
import weakref

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune

from elasticgnn.nn import EMP
from elasticgnn.operator.saved_rows import SavedRows
from marks import needs_kernels
from strategies import normal_rows, random_graph

GRAPH = random_graph(9, 14)
INDEX = GRAPH.to_edge_index()[0]
X = normal_rows(9, 3)


def smoothed(lambda1, lambda2=1.0):
    return EMP(4, lambda1, lambda2)(X, INDEX)


class Square(nn.Module):
    def forward(self, value):
        return value * value


@pytest.mark.parametrize("name", ["lambda1", "lambda2"])
def test_a_parametrized_strength_is_the_one_in_use_and_trains(name):
    strengths = {"lambda1": 0.4, "lambda2": 1.0, name: nn.Parameter(torch.tensor(0.5).double())}
    layer = EMP(4, **strengths)
    parametrize.register_parametrization(layer, name, Square())
    out = layer(X, INDEX)
    torch.testing.assert_close(out, EMP(4, **{**strengths, name: 0.25})(X, INDEX))
    out.square().sum().backward()
    assert float(layer.parametrizations[name].original.grad.abs()) > 0


def test_a_pruned_strength_is_zero():
    layer = EMP(4, nn.Parameter(torch.tensor([0.5]).double()), 1.0)
    prune.custom_from_mask(layer, "lambda1", torch.tensor([0.0]))
    torch.testing.assert_close(layer(X, INDEX), smoothed(0.0))
    assert "lambda1_orig" in layer.state_dict()


def test_a_replica_uses_the_parameters_that_it_was_given():
    layer = EMP(4, nn.Parameter(torch.tensor(0.5).double()), 1.0)
    replica = layer._replicate_for_data_parallel()
    replica._parameters = {}
    replica.lambda1 = 2 * layer.lambda1  # a tensor with a history, as a copy on a device is
    out = replica(X, INDEX)
    torch.testing.assert_close(out, smoothed(1.0))
    out.square().sum().backward()
    assert float(layer.lambda1.grad.abs()) > 0


def test_a_strength_set_on_the_layer_is_used_scripted_saved_and_restored():
    layer = EMP(4, 0.5, 1.0)
    layer.lambda1 = 2.0
    torch.testing.assert_close(layer(X, INDEX), smoothed(2.0))
    torch.testing.assert_close(torch.jit.script(layer)(X, INDEX), smoothed(2.0))
    assert "lambda1=2," in repr(layer)
    other = EMP(4, 0.5, 1.0)
    other.lambda2 = 7.0
    other.load_state_dict(layer.state_dict())
    torch.testing.assert_close(other(X, INDEX), smoothed(2.0))
    layer.lambda1 = -1.0
    with pytest.raises(ValueError, match=r"lambda1 must be a number >= 0, got -1\.0"):
        layer(X, INDEX)


def test_a_learned_strength_cannot_be_set_by_the_way():
    with pytest.raises(AttributeError, match="set log_lambda"):
        EMP(4, 0.5, 1.0, learnable=True).lambda1 = 2.0


@pytest.mark.parametrize("norm", ["l21", "mcp"])
@pytest.mark.parametrize(
    "implementation", ["reference", pytest.param("fused", marks=needs_kernels)]
)
@pytest.mark.parametrize("width", [3, 20])
def test_no_entry_of_a_row_with_a_nan_looks_known(norm, implementation, width):
    x = normal_rows(9, width)
    x[0, 1] = torch.nan
    layer = EMP(4, 0.3, 1.0, norm, concavity=40.0 if norm == "mcp" else None)
    layer.implementation = implementation
    neighbours = INDEX[1, INDEX[0] == 0]
    assert layer(x, INDEX)[neighbours].isnan().all()


@needs_kernels
@pytest.mark.parametrize("width", [3, 40])
def test_what_was_saved_is_freed_by_the_backward_pass_unless_it_is_to_be_kept(width):
    def saved_rows():
        gc.collect()
        return [weakref.ref(entry) for entry in gc.get_objects() if type(entry) is SavedRows]

    x = normal_rows(9, width).float().requires_grad_()
    before = len(saved_rows())
    loss = EMP(4, 0.5, 1.0)(x, INDEX).square().sum()
    assert len(saved_rows()) > before
    (first,) = torch.autograd.grad(loss, x, retain_graph=True)
    (again,) = torch.autograd.grad(loss, x)
    assert torch.equal(first, again)
    assert len(saved_rows()) == before
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()
