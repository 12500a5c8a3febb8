"""Sparse feature matrices against scipy and dense torch."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from elasticgnn.features import SparseFeatures


@st.composite
def matrices(draw):
    """Scipy matrices of 0 to 6 rows and columns with whole numbers, some rows empty."""
    shape = draw(st.integers(0, 6)), draw(st.integers(1, 6))
    seed = draw(st.integers(0, 99))
    values = np.random.default_rng(seed).integers(-2, 4, shape) * draw(st.sampled_from([0, 1, 1]))
    return sparse.csr_array(values.astype(np.float32))


@given(matrices())
def test_scipy_and_back_is_the_same_matrix(matrix):
    assert (SparseFeatures.from_scipy(matrix).to_scipy().toarray() == matrix.toarray()).all()


@given(matrices())
def test_dense_and_back_is_the_same_matrix(matrix):
    dense = torch.from_numpy(matrix.toarray())
    features = SparseFeatures.from_dense(dense)
    assert torch.equal(features.to_dense(), dense)
    assert features.fingerprint == SparseFeatures.from_scipy(matrix).fingerprint


@given(matrices())
def test_transpose_is_the_transpose_and_knows_where_its_values_come_from(matrix):
    features = SparseFeatures.from_scipy(matrix)
    assert torch.equal(features.transpose.to_dense(), features.to_dense().T)
    assert torch.equal(features.transpose.value, features.value[features.transpose_order])


@given(matrices())
def test_normalised_rows_sum_to_one_unless_they_sum_to_zero(matrix):
    positive = abs(matrix)
    rows = SparseFeatures.from_scipy(positive).row_normalized().to_dense().sum(1)
    expected = torch.from_numpy((positive.toarray().sum(1) > 0).astype(np.float32))
    torch.testing.assert_close(rows, expected)


@given(matrices(), st.integers(0, 99))
def test_rows_are_picked_in_the_order_asked_for(matrix, seed):
    features = SparseFeatures.from_scipy(matrix)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(features), generator=generator)[: len(features) // 2 + 1]
    assert torch.equal(features.rows(order).to_dense(), features.to_dense()[order])


def test_identity_is_the_identity():
    assert torch.equal(SparseFeatures.identity(4).to_dense(), torch.eye(4))


def test_duplicate_entries_add_up_and_stored_zeros_leave():
    matrix = sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    features = SparseFeatures.from_scipy(matrix)
    assert features.num_values == 1
    assert features.to_dense().tolist() == [[0, 3], [0, 0]]


def test_the_input_matrix_is_left_alone():
    matrix = sparse.csr_array(([2.0, 0.0, 1.0], [1, 1, 0], [0, 3]), shape=(1, 2))
    SparseFeatures.from_scipy(matrix).value.mul_(5)
    assert matrix.data.tolist() == [2, 0, 1]
    assert matrix.indices.tolist() == [1, 1, 0]


def test_fingerprint_follows_content():
    one, two = SparseFeatures.identity(3), SparseFeatures.identity(3)
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != two.with_value(two.value * 2).fingerprint


def parts(start, column, value, num_columns=3):
    return (
        torch.tensor(start),
        torch.tensor(column, dtype=torch.int32),
        torch.tensor(value, dtype=torch.float32),
        num_columns,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (parts([0, 2], [0], [1.0]), "start must run from 0 to 1"),
        (parts([0, 2, 1, 2], [0, 1], [1.0, 1.0]), "start must not decrease"),
        (parts([0, 1], [3], [1.0]), r"column must be in 0..2, got 3..3"),
        (parts([0, 1], [-1], [1.0]), r"column must be in 0..2"),
        (parts([0, 2], [1, 1], [1.0, 1.0]), "ascend strictly"),
        (parts([0, 2], [2, 1], [1.0, 1.0]), "ascend strictly"),
        (parts([0, 1], [0], [1.0, 2.0]), "value must be"),
    ],
)
def test_broken_parts_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        SparseFeatures(*arguments)


def test_columns_may_fall_from_one_row_to_the_next():
    features = SparseFeatures(*parts([0, 1, 1, 2], [2, 0], [1.0, 1.0]))
    assert features.to_dense().tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_wrong_types_are_refused():
    start, column, value, width = parts([0, 1], [0], [1.0])
    with pytest.raises(ValueError, match="column must be"):
        SparseFeatures(start, column.long(), value, width)
    with pytest.raises(ValueError, match="value must be"):
        SparseFeatures(start, column, value.long(), width)


def test_not_a_number_is_refused():
    with pytest.raises(ValueError, match="finite numbers"):
        SparseFeatures.from_scipy(sparse.csr_array([[np.nan]]))


def test_a_number_beyond_the_type_is_refused_and_not_made_infinite():
    matrix = sparse.csr_array(np.array([[1e300, 1.0]]))
    with pytest.raises(ValueError, match="finite numbers"):
        SparseFeatures.from_scipy(matrix)
    assert SparseFeatures.from_scipy(matrix, torch.float64).value.tolist() == [1e300, 1.0]
