"""Edges merged and slots filled by the compiled loops: what plain torch finds, for any columns."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import Graph
from elasticgnn.graph import merge
from elasticgnn.graph.merge import edge_pattern, merged_weight
from elasticgnn.graph.slots import _sorted_slots, build_slots
from marks import needs_kernels

pytestmark = needs_kernels


@st.composite
def columns(draw):
    """Any columns: loops, parallel ones, single directions, nodes without any."""
    nodes = draw(st.integers(1, 9))
    ends = st.integers(0, nodes - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=25))
    if draw(st.booleans()):
        pairs += [(j, i) for i, j in pairs]
    return torch.tensor(pairs, dtype=torch.int64).view(-1, 2).T, nodes


def plain(function, *arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "native", None)
        return function(*arguments)


@given(columns())
def test_the_pattern_is_that_of_plain_torch(given_columns):
    index, nodes = given_columns
    compiled, expected = edge_pattern(index, nodes), plain(edge_pattern, index, nodes)
    for left, right in zip(compiled, expected, strict=True):
        assert torch.equal(left, right) if isinstance(right, torch.Tensor) else left == right


@given(columns())
def test_slots_are_those_of_plain_torch(given_columns):
    pattern = edge_pattern(*given_columns)
    found = build_slots(pattern.tail, pattern.head, given_columns[1])
    expected = _sorted_slots(pattern.tail, pattern.head, given_columns[1])
    for name in ("start", "column", "edge"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype


@given(columns(), st.sampled_from(["error", "symmetrize"]), st.booleans())
def test_without_weights_every_column_weighs_one(given_columns, directed, undirected):
    pattern = edge_pattern(*given_columns)
    ones = torch.ones(given_columns[0].shape[1], dtype=torch.float64)
    options = (undirected, directed)
    try:
        expected = merged_weight(pattern, ones, *options)
    except ValueError as refused:
        with pytest.raises(ValueError, match=str(refused)[:20]):
            merged_weight(pattern, None, *options)
    else:
        assert torch.equal(merged_weight(pattern, None, *options), expected)


def test_a_symmetrised_edge_has_the_mean_of_the_directions_that_are_there():
    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 3]])  # both directions, the first, the first
    pattern, weight = edge_pattern(index, 4), torch.tensor([2.0, 4.0, 5.0, 7.0])
    assert merged_weight(pattern, weight, directed="symmetrize").tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("form", ["int32", "strided"])
def test_other_integers_and_strides_are_read_as_they_are(form):
    index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    other = index.int() if form == "int32" else index.T.contiguous().T
    assert Graph.from_edge_index(other, 4) == Graph.from_edge_index(index, 4)
