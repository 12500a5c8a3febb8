"""Feature products against dense ones, with and without dropout."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from at_work import threads_at_work
from elasticgnn.features import DropoutNoise, SparseFeatures, feature_product
from elasticgnn.features.dropout import RowNoise
from elasticgnn.features.product import dropped_values, multiply_plainly


def random_features(rows, columns, seed, share=0.3):
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randn(rows, columns, generator=generator)
    return dense * (torch.rand(rows, columns, generator=generator) < share)


@given(
    rows=st.integers(0, 40),
    columns=st.integers(1, 30),
    width=st.sampled_from([0, 1, 7, 16, 17, 64, 70]),
    seed=st.integers(0, 99),
)
def test_sparse_product_equals_the_dense_one(rows, columns, width, seed):
    dense = random_features(rows, columns, seed)
    weight = torch.randn(columns, width, generator=torch.Generator().manual_seed(seed + 1))
    product = feature_product(SparseFeatures.from_dense(dense), weight)
    torch.testing.assert_close(product, dense @ weight)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradient_with_respect_to_the_weight_equals_the_dense_one(dtype):
    dense = random_features(50, 20, 3).to(dtype)
    features = SparseFeatures.from_dense(dense)
    weight = torch.randn(20, 19, dtype=dtype, generator=torch.Generator().manual_seed(0))
    grad = torch.randn(50, 19, dtype=dtype, generator=torch.Generator().manual_seed(1))
    sparse_weight, dense_weight = (weight.clone().requires_grad_() for _ in range(2))
    feature_product(features, sparse_weight).backward(grad)
    (dense @ dense_weight).backward(grad)
    torch.testing.assert_close(sparse_weight.grad, dense_weight.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_second_derivatives_equal_the_dense_ones(dtype):
    dense = random_features(30, 8, 3).to(dtype)
    features = SparseFeatures.from_dense(dense)
    weight = torch.randn(8, 5, dtype=dtype, generator=torch.Generator().manual_seed(0))

    def second(product):
        own = weight.clone().requires_grad_()
        out = product(own.square())
        (grad,) = torch.autograd.grad(out.pow(3).sum(), own, create_graph=True)
        return torch.autograd.grad((grad.square().sum() + (out * out).sum()), own)[0]

    sparse = second(lambda w: feature_product(features, w))
    torch.testing.assert_close(sparse, second(lambda w: dense @ w), rtol=1e-4, atol=1e-3)
    twice = torch.func.grad(
        lambda w: torch.func.grad(lambda v: feature_product(features, v).pow(3).sum())(w).sum()
    )(weight)
    exact = torch.func.grad(lambda w: torch.func.grad(lambda v: (dense @ v).pow(3).sum())(w).sum())(
        weight
    )
    torch.testing.assert_close(twice, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("noise", [None, DropoutNoise(3)])
def test_gradients_of_values_and_weight_pass_both_checks(noise):
    features = SparseFeatures.from_dense(random_features(6, 5, 0, 0.7).double())
    weight = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    value = features.value.clone().requires_grad_()

    def run(value, weight):
        return feature_product(features.with_value(value), weight, noise, 0.4)

    assert torch.autograd.gradcheck(run, (value, weight))
    assert torch.autograd.gradgradcheck(run, (value, weight))


def test_a_negated_view_is_multiplied_as_what_it_says():
    features = SparseFeatures.from_dense(random_features(6, 5, 0, 0.7))
    weight = torch._neg_view(torch.ones(5, 3))
    torch.testing.assert_close(
        feature_product(features, weight), feature_product(features, -torch.ones(5, 3))
    )


@pytest.mark.parametrize("noise", [None, DropoutNoise(3)])
def test_negated_values_are_multiplied_as_what_they_say(noise):
    features = SparseFeatures.from_dense(random_features(6, 5, 0, 0.7))
    negated, weight = features.with_value(torch._neg_view(features.value)), torch.ones(5, 3)
    product = feature_product(negated, weight, noise, 0.4)
    torch.testing.assert_close(product, -feature_product(features, weight, noise, 0.4))


def test_gradient_passes_gradcheck_under_dropout():
    features = SparseFeatures.from_dense(random_features(6, 5, 0, 0.7).double())
    weight = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    noise = DropoutNoise(3)
    assert torch.autograd.gradcheck(lambda w: feature_product(features, w, noise, 0.4), weight)


def test_dropout_drops_stored_values_and_scales_the_others():
    features = SparseFeatures.from_dense(random_features(200, 50, 1))
    keep = DropoutNoise(4, 2).keep(features.num_values, 0.75, 0)
    expected = features.with_value(features.value * keep * 4).to_dense()
    product = feature_product(features, torch.eye(50), DropoutNoise(4, 2), 0.75)
    torch.testing.assert_close(product, expected)
    assert 0.2 < float(keep.double().mean()) < 0.3


def test_dense_features_are_dropped_out_too():
    x = torch.ones(300, 40)
    product = feature_product(x, torch.eye(40), DropoutNoise(0), 0.5)
    assert set(product.flatten().tolist()) == {0.0, 2.0}


def test_product_has_the_same_bits_on_any_number_of_threads():
    features = SparseFeatures.from_dense(random_features(500, 80, 5))
    weight = torch.randn(80, 64, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(feature_product(features, weight))
            assert threads_at_work(lambda: feature_product(features, weight)) >= threads
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_plain_path_equals_the_compiled_one():
    features = SparseFeatures.from_dense(random_features(100, 30, 8))
    weight = torch.randn(30, 20, generator=torch.Generator().manual_seed(0))
    plain = multiply_plainly(features, features.value, weight)
    torch.testing.assert_close(feature_product(features, weight), plain)


def test_a_weight_of_the_wrong_height_is_refused():
    with pytest.raises(ValueError, match=r"weight must be \(5, d\)"):
        feature_product(torch.ones(3, 5), torch.ones(4, 2))


def test_features_of_more_digits_than_the_weight_are_refused():
    features = SparseFeatures.from_dense(random_features(6, 5, 0))
    with pytest.raises(ValueError, match=r"features must be torch\.float32 as the weight is"):
        feature_product(features.to(torch.float64), torch.ones(5, 3))
    assert feature_product(features, torch.ones(5, 3).double()).dtype == torch.float64


@pytest.mark.parametrize("rate", [0.25, 0.8])
@pytest.mark.parametrize("width", [3, 16, 70])
def test_what_dropout_leaves_is_multiplied_as_if_the_rest_were_zeros(rate, width):
    features = SparseFeatures.from_dense(random_features(150, 90, 5))
    noise, weight = DropoutNoise(3, 4), torch.randn(90, width)
    grad = torch.randn(150, width)
    zeroed = features.with_value(dropped_values(features, noise, rate)).to_dense()
    one, other = (weight.clone().requires_grad_() for _ in range(2))
    product = feature_product(features, one, noise, rate)
    torch.testing.assert_close(product, zeroed @ other)
    product.backward(grad)
    (zeroed @ other).backward(grad)
    torch.testing.assert_close(one.grad, other.grad)


def test_rows_are_dropped_as_in_the_whole_matrix():
    features = SparseFeatures.from_dense(random_features(40, 30, 6))
    nodes, weight = torch.tensor([30, 4, 17]), torch.randn(30, 20)
    rows, first = features.rows(nodes), features.start[nodes]
    number = torch.cat([torch.arange(features.start[n], features.start[n + 1]) for n in nodes])
    entries = number.int(), number.int()[rows.transpose_order]
    whole = feature_product(features, weight, DropoutNoise(1, 2), 0.5)
    for known in (entries, None):  # by the loop, and by a mask
        noise = RowNoise(1, 2, {0: (first, rows.start)}, known)
        torch.testing.assert_close(feature_product(rows, weight, noise, 0.5), whole[nodes])
        own = weight.clone().requires_grad_()
        feature_product(rows, own, noise, 0.5).sum().backward()
        every = weight.clone().requires_grad_()
        feature_product(features, every, DropoutNoise(1, 2), 0.5)[nodes].sum().backward()
        torch.testing.assert_close(own.grad, every.grad)


def test_second_derivatives_under_dropout_equal_the_dense_ones():
    features = SparseFeatures.from_dense(random_features(30, 8, 3))
    noise, weight = DropoutNoise(7), torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    zeroed = features.with_value(dropped_values(features, noise, 0.5)).to_dense()

    def twice(product):
        own = weight.clone().requires_grad_()
        (grad,) = torch.autograd.grad(product(own).pow(3).sum(), own, create_graph=True)
        return torch.autograd.grad(grad.square().sum(), own)[0]

    sparse = twice(lambda w: feature_product(features, w, noise, 0.5))
    torch.testing.assert_close(sparse, twice(lambda w: zeroed @ w), rtol=1e-4, atol=1e-3)
    by_func = torch.func.grad(lambda w: feature_product(features, w, noise, 0.5).pow(2).sum())
    want = torch.func.grad(lambda w: (zeroed @ w).pow(2).sum())
    torch.testing.assert_close(by_func(weight), want(weight))
