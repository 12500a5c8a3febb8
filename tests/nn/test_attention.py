"""Attention by the compiled loops against its definition by dense softmax, and inside GAT."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elasticgnn import Graph
from elasticgnn.features import DropoutNoise
from elasticgnn.nn import GAT
from elasticgnn.nn.attention import AttentionPattern, attend, attend_plainly
from strategies import graphs, normal_rows, random_graph
from training_task import small_task

TASK = small_task()
HEADS, CHANNELS = st.sampled_from([1, 3, 8, 11]), st.sampled_from([1, 2, 7, 8, 40])
SCORES = st.sampled_from([1.0, 80.0])
# Sums of numbers around 1, of both signs, in float32: what they lose is measured against 1.
CLOSE = {"rtol": 1e-4, "atol": 2e-5}


def dense_attention(rows, target, source, graph):
    """The definition: softmax over the neighbours and the node itself, in a dense matrix."""
    nodes, heads = target.shape
    joined = torch.eye(nodes, dtype=torch.bool)
    joined[graph.tail, graph.head] = joined[graph.head, graph.tail] = True
    score = torch.nn.functional.leaky_relu(target[:, None] + source[None], 0.2)
    weight = score.masked_fill(~joined[:, :, None], -torch.inf).softmax(1)
    return torch.einsum("ijk,jkc->ikc", weight, rows.view(nodes, heads, -1)).flatten(1)


def inputs(nodes, heads, channels, scale=1.0, seed=0):
    """Rows and scores that float32 holds exactly, in float64; gradients asked for."""
    sizes = (heads * channels, heads, heads)
    parts = [normal_rows(nodes, size, seed=seed + k) for k, size in enumerate(sizes)]
    scales = (1.0, scale, scale)
    return [
        (part * s).float().double().requires_grad_() for part, s in zip(parts, scales, strict=True)
    ]


def single(parts):
    return [part.detach().float().requires_grad_() for part in parts]


def with_gradients(function, parts, pattern):
    out = function(*parts, pattern)
    grad = normal_rows(*out.shape, seed=9).to(out.dtype)
    return [out, *torch.autograd.grad(out, parts, grad)]


@pytest.mark.parametrize("function", [attend, attend_plainly])
@given(graph=graphs(), heads=HEADS, channels=CHANNELS, scale=SCORES)
def test_attention_is_dense_softmax_with_its_gradients(function, graph, heads, channels, scale):
    parts = inputs(graph.num_nodes, heads, channels, scale)
    expected = with_gradients(dense_attention, parts, graph)
    found = with_gradients(function, single(parts), AttentionPattern.of(graph))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-5 * channels**0.5)


@pytest.mark.parametrize("heads", [1, 8])
@pytest.mark.parametrize("shift", [-80.0, 80.0])
def test_scores_far_from_zero_lose_nothing(heads, shift):
    graph = random_graph(40, 200)
    rows, target, source = inputs(40, heads, 8)
    parts = [part.detach().requires_grad_() for part in (rows, target + shift, source)]
    parts = [part.float().double().detach().requires_grad_() for part in parts]
    expected = with_gradients(dense_attention, parts, graph)
    found = with_gradients(attend, single(parts), AttentionPattern.of(graph))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)


def test_a_hub_with_many_neighbours_is_served():
    star = torch.stack([torch.zeros(3000, dtype=torch.int64), torch.arange(1, 3001)])
    graph = Graph.from_edge_index(star, 3001, undirected=True)
    parts = inputs(3001, 1, 3)
    expected = with_gradients(attend_plainly, parts, AttentionPattern.of(graph))
    found = with_gradients(attend, single(parts), AttentionPattern.of(graph))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, **CLOSE)


def test_gradients_agree_with_finite_differences():
    pattern = AttentionPattern.of(random_graph(6, 9))
    assert torch.autograd.gradcheck(lambda *parts: attend(*parts, pattern), inputs(6, 2, 3))


@pytest.mark.parametrize(("heads", "channels"), [(1, 7), (8, 8), (3, 40)])
def test_same_bits_on_one_and_two_threads(heads, channels):
    pattern = AttentionPattern.of(random_graph(500, 3000))
    parts = single(inputs(500, heads, channels))
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(with_gradients(attend, parts, pattern))
    finally:
        torch.set_num_threads(before)
    assert all(map(torch.equal, *results))


def test_no_gradient_asked_for_changes_nothing():
    pattern, parts = AttentionPattern.of(random_graph(30, 90)), single(inputs(30, 8, 2))
    with torch.no_grad():
        quick = attend(*parts, pattern)
    assert not quick.requires_grad
    assert torch.equal(quick, attend(*parts, pattern))
    assert torch.equal(quick, attend(*(part.detach() for part in parts), pattern))


def test_not_a_number_reaches_those_who_look_at_it():
    graph = Graph.from_edges([(0, 1), (1, 2), (2, 3)])
    rows, target, source = (part.detach() for part in single(inputs(4, 8, 2)))
    source[0] = torch.nan
    lost = attend(rows, target, source, AttentionPattern.of(graph)).isnan().all(1)
    assert lost.tolist() == [True, True, False, False]


def test_the_pattern_holds_edges_of_weight_zero():
    graph = Graph.from_edges([(0, 1, 0.0), (1, 2, 5.0)])
    pattern = AttentionPattern.of(graph)
    assert pattern.start.tolist() == [0, 2, 5, 7]
    assert pattern.column.tolist() == [0, 1, 0, 1, 2, 1, 2]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("hidden", [16, 64])
def test_gat_on_a_prepared_graph_is_torch_geometrics(hidden, training):
    model = GAT(TASK.features.shape[1], hidden, 3).train(training)
    results = []
    for graph in (TASK.graph, model.prepare(TASK.graph)):
        model.zero_grad()
        logits = model(TASK.features, graph, noise=DropoutNoise(5) if training else None)
        torch.nn.functional.cross_entropy(logits, TASK.labels).backward()
        results.append([logits, *(p.grad.clone() for p in model.parameters())])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 8), (4, 2), (4, 2)), r"rows must be \(4, 2 c\)"),
        (((4, 7), (4, 2), (4, 2)), r"rows must be \(4, 2 c\)"),
        (((4, 8), (4, 2), (4, 4)), r"target and source must be \(4, heads\)"),
    ],
)
def test_wrong_shapes_are_refused(shapes, message):
    pattern = AttentionPattern.of(random_graph(4, 4))
    with pytest.raises(ValueError, match=message):
        attend(*(torch.zeros(shape) for shape in shapes), pattern)
