"""Second derivatives: right on every route and in every argument, however torch asks for them."""

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.features import SparseFeatures
from elasticgnn.nn import ElasticGNN, FeatureLinear
from elasticgnn.nn.attention import AttentionPattern, attend
from elasticgnn.problem import PENALTIES
from marks import needs_kernels
from strategies import normal_rows, random_graph

GRAPH = random_graph(7, 12, weighted=True)
CONCAVITY = {"mcp": 60.0, "scad": 60.0}
# rows of one run, of two, and wide ones: packed, general and active-row loops
SHAPES = [(7, 2), (7, 2, 2), (7, 20)]


def smoothed(x, norm="l21", implementation="auto", steps=4, memory="fast"):
    penalty = ElasticPenalty(0.3, 1.2, norm, CONCAVITY.get(norm))
    return elastic_message_passing(
        x, GRAPH, penalty, steps, implementation=implementation, memory=memory
    )


def second_order(x, run):
    """The gradient of a loss that holds the signal, its gradient and x itself."""
    x = x.clone().requires_grad_()
    out = run(x * x)
    (grad,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
    loss = (grad * out).pow(2).sum() + grad.sum()
    return torch.autograd.grad(loss, x)[0]


@needs_kernels
@pytest.mark.parametrize("memory", ["fast", "lean"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("norm", [*PENALTIES])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-3), (torch.float64, 1e-9)])
def test_gradient_penalties_equal_those_of_the_plain_version(dtype, tolerance, norm, shape, memory):
    x = normal_rows(*shape)
    fused = second_order(x.to(dtype), lambda y: smoothed(y, norm, "fused", memory=memory))
    plain = second_order(x, lambda y: smoothed(y, norm, "reference"))
    assert float((fused - plain).abs().max()) <= tolerance * float(plain.abs().max())


@needs_kernels
@pytest.mark.parametrize(
    ("norm", "shape", "implementation"),
    [
        *((norm, (7, 2), "fused") for norm in (*PENALTIES,)),
        ("l21", (7, 2, 2), "fused"),
        ("l21", (7, 2), "reference"),
    ],
)
def test_gradgradcheck_of_every_argument(norm, shape, implementation):
    def run(x, weight, lambda1, lambda2):
        penalty = ElasticPenalty(lambda1, lambda2, norm, CONCAVITY.get(norm))
        return elastic_message_passing(
            x, GRAPH, penalty, 3, edge_weight=weight, implementation=implementation
        )

    numbers = [torch.tensor(value, dtype=torch.float64) for value in (0.31, 0.7)]
    inputs = [normal_rows(*shape), GRAPH.weight.clone(), *numbers]
    assert torch.autograd.gradgradcheck(
        run, [entry.requires_grad_() for entry in inputs], fast_mode=True
    )


@needs_kernels
@pytest.mark.parametrize("memory", ["fast", "lean"])
def test_gradgradcheck_of_wide_rows(memory):
    x = normal_rows(7, 3).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda y: smoothed(y, "l21", "fused", 3, memory), [x])


@pytest.mark.parametrize("argument", ["weight", "lambda1", "lambda2"])
@pytest.mark.parametrize("implementation", ["auto", "reference"])
def test_backward_through_a_gradient_reaches_learned_weights_and_strengths(
    argument, implementation
):
    values = {"weight": GRAPH.weight.clone(), "lambda1": torch.tensor(0.3).double()}
    values["lambda2"] = torch.tensor(1.2).double()
    values[argument].requires_grad_()
    penalty = ElasticPenalty(values["lambda1"], values["lambda2"])
    x = normal_rows(7, 3).requires_grad_()
    out = elastic_message_passing(
        x, GRAPH, penalty, 4, edge_weight=values["weight"], implementation=implementation
    )
    (grad,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    grad.square().sum().backward()
    assert float(values[argument].grad.abs().max()) > 0
    assert float(x.grad.abs().max()) > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_func_transforms_of_a_gradient_equal_the_plain_ones(dtype):
    x = normal_rows(7, 2).to(dtype)
    vector = normal_rows(7, 2, seed=3).to(dtype)

    def loss(implementation):
        return lambda y: smoothed(y, implementation=implementation).pow(3).sum()

    def products(implementation):
        gradient = torch.func.grad(loss(implementation))
        twice = torch.func.grad(lambda y: (gradient(y) * vector).sum())(x)
        _, vjp = torch.func.vjp(gradient, x)
        hessian = torch.autograd.functional.hessian(loss(implementation), x)
        return [twice, vjp(vector)[0], torch.einsum("ijkl,kl->ij", hessian, vector)]

    results = products("auto") + products("reference")
    for other in results[1:]:
        torch.testing.assert_close(results[0], other, rtol=1e-3, atol=1e-3)


def test_third_derivatives_are_right_too():
    x = normal_rows(7, 2).requires_grad_()
    thirds = []
    for implementation in ("auto", "reference"):
        value = smoothed(x, implementation=implementation).pow(4).sum()
        for _ in range(2):
            (grad,) = torch.autograd.grad(value, x, create_graph=True)
            value = grad.pow(2).sum()
        thirds.append(torch.autograd.grad(value, x)[0])
    torch.testing.assert_close(*thirds)


def meta_gradients(model, x, labels, implementation):
    """One-step MAML: the loss after a gradient step, differentiated before it."""
    model.propagation.implementation = implementation
    parameters = dict(model.named_parameters())

    def loss(values):
        logits = torch.func.functional_call(model, values, (x, GRAPH))
        return nn.functional.cross_entropy(logits, labels)

    inner = torch.autograd.grad(loss(parameters), list(parameters.values()), create_graph=True)
    moved = {name: p - 0.5 * g for (name, p), g in zip(parameters.items(), inner, strict=True)}
    return torch.autograd.grad(loss(moved), list(parameters.values()))


def test_one_step_maml_equals_the_plain_version():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = ElasticGNN(5, 8, 3, dropout=0.0, penalty=ElasticPenalty(0.2, 1.0)).double()
    x, labels = normal_rows(7, 5), torch.arange(7) % 3
    fused = meta_gradients(model, x, labels, "auto")
    plain = meta_gradients(model, x, labels, "reference")
    for left, right in zip(fused, plain, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-6, atol=1e-12)


def test_rows_that_do_not_differ_give_no_nan():
    x = torch.zeros(7, 3, dtype=torch.float64, requires_grad=True)
    for norm in (*PENALTIES,):
        out = smoothed(x, norm) + 1
        (grad,) = torch.autograd.grad(out.pow(3).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.pow(2).sum(), x)
        assert second.isfinite().all()
        assert float(second.abs().max()) > 0


def test_an_inner_transform_over_x_and_an_outer_one_over_weights_mix_no_constants():
    x, weight = normal_rows(7, 3), GRAPH.weight.clone()

    def mixed(weight, implementation):
        def loss(x):
            out = elastic_message_passing(
                x,
                GRAPH,
                ElasticPenalty(0.3, 1.2),
                4,
                edge_weight=weight,
                implementation=implementation,
            )
            return out.pow(3).sum()

        return torch.func.grad(loss)(x).square().sum()

    found, exact = (
        torch.func.grad(lambda w, i=implementation: mixed(w, i))(weight)
        for implementation in ("auto", "reference")
    )
    own = weight.clone().requires_grad_()
    by_autograd = torch.autograd.grad(mixed(own, "reference"), own)[0]
    torch.testing.assert_close(exact, by_autograd)
    torch.testing.assert_close(found, exact)


@needs_kernels
@pytest.mark.parametrize("shape", [(7, 3), (7, 20), (7, 12, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_negated_view_is_read_as_what_it_says(dtype, shape):
    x = normal_rows(*shape).to(dtype)
    torch.testing.assert_close(smoothed(torch._neg_view(x)), smoothed(-x))
    y = x.clone().requires_grad_()
    cotangent = normal_rows(*shape, seed=5).to(dtype)
    out = smoothed(y)
    (right,) = torch.autograd.grad(out, y, -cotangent, retain_graph=True)
    (found,) = torch.autograd.grad(out, y, torch._neg_view(cotangent))
    torch.testing.assert_close(found, right)


def assert_pulls_back_in_forward_mode(out, inputs):
    """A gradient is linear in its cotangent: the tangent's gradient is that of the tangent."""
    cotangent, direction = normal_rows(2, out.numel()).to(out.dtype).view(2, *out.shape)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(cotangent, direction)
        pushed = torch.autograd.grad(out, inputs, dual, retain_graph=True)
        slopes = [forward_ad.unpack_dual(part).tangent for part in pushed]
    for slope, exact in zip(slopes, torch.autograd.grad(out, inputs, direction), strict=True):
        torch.testing.assert_close(slope, exact)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cotangents_with_a_tangent_reach_every_route(shape, dtype):
    x = normal_rows(*shape).to(dtype).requires_grad_()
    assert_pulls_back_in_forward_mode(smoothed(x), [x])


def test_cotangents_with_a_tangent_reach_sparse_products_and_attention():
    linear = FeatureLinear(3, 2)
    out = linear(SparseFeatures.from_dense(normal_rows(7, 3).float()))
    assert_pulls_back_in_forward_mode(out, [linear.weight])
    rows = normal_rows(7, 2).float().requires_grad_()
    scores = [normal_rows(7, 1, seed=k).float().requires_grad_() for k in (1, 2)]
    out = attend(rows, *scores, AttentionPattern.of(GRAPH))
    assert_pulls_back_in_forward_mode(out, [rows, *scores])
