"""Attention by the compiled loops against its definition by dense softmax, and inside GAT."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from at_work import threads_at_work
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
            assert threads_at_work(lambda: attend(*parts, pattern)) >= threads
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
        (((4, 8), (4, 2), (4, 2), (3, 2)), r"factor must be \(slots, heads\)"),
    ],
)
def test_wrong_shapes_are_refused(shapes, message):
    pattern = AttentionPattern.of(random_graph(4, 4))
    with pytest.raises(ValueError, match=message):
        attend(
            *(torch.zeros(shape) for shape in shapes[:3]), pattern, *map(torch.zeros, shapes[3:])
        )


def test_second_derivatives_equal_the_dense_ones():
    graph = random_graph(9, 14)
    parts = inputs(9, 2, 3)

    def second(function, parts, pattern):
        out = function(*parts, pattern)
        first = torch.autograd.grad(out.pow(3).sum(), parts, create_graph=True)
        loss = sum(part.square().sum() for part in first) + (first[0] * out).sum()
        return torch.autograd.grad(loss, parts)

    exact = second(dense_attention, parts, graph)
    found = second(attend, single(parts), AttentionPattern.of(graph))
    for one, other in zip(found, exact, strict=True):
        scale = float(other.abs().max())
        torch.testing.assert_close(one.double(), other, rtol=1e-3, atol=1e-4 * scale)


def test_a_transform_of_torch_func_takes_the_plain_version():
    pattern, parts = AttentionPattern.of(random_graph(9, 14)), single(inputs(9, 2, 3))
    inside = torch.func.grad(lambda rows: attend(rows, *parts[1:], pattern).pow(2).sum())(parts[0])
    out = attend(*parts, pattern).pow(2).sum()
    torch.testing.assert_close(inside, torch.autograd.grad(out, parts[0])[0], **CLOSE)


def factored(graph, pattern, factor):
    """The definition with a factor per slot, as a function of rows and scores."""

    def attention(rows, target, source, _):
        nodes, heads = target.shape
        weight = dense_weights(target, source, graph) * spread_slots(factor, pattern, nodes)
        return torch.einsum("ijk,jkc->ikc", weight, rows.view(nodes, heads, -1)).flatten(1)

    return attention


@pytest.mark.parametrize("function", [attend, attend_plainly])
@given(graph=graphs(), heads=HEADS, channels=st.sampled_from([1, 3, 8]), scale=SCORES)
def test_a_factor_multiplies_the_coefficients_after_the_softmax(
    function, graph, heads, channels, scale
):
    pattern = AttentionPattern.of(graph)
    factor = torch.arange(len(pattern.column) * heads).view(-1, heads).double() % 4
    parts = inputs(graph.num_nodes, heads, channels, scale)
    expected = with_gradients(factored(graph, pattern, factor), parts, graph)
    found = with_gradients(lambda *p: function(*p, factor.float()), single(parts), pattern)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4 * channels**0.5)


def test_a_factor_is_served_by_the_loops_unless_its_gradient_is_wanted(monkeypatch):
    pattern, parts = AttentionPattern.of(random_graph(9, 14)), single(inputs(9, 2, 3))
    factor = torch.ones(len(pattern.column), 2)
    plain = attend_plainly(*parts, pattern, factor)
    monkeypatch.setattr("elasticgnn.nn.attention.attend_plainly", lambda *_: None)
    torch.testing.assert_close(attend(*parts, pattern, factor), plain, **CLOSE)
    assert attend(*parts, pattern, factor.requires_grad_()) is None


def test_second_derivatives_with_a_factor_equal_the_dense_ones():
    graph = random_graph(7, 10)
    pattern, parts = AttentionPattern.of(graph), inputs(7, 2, 3)
    factor = torch.arange(len(pattern.column) * 2).view(-1, 2).double() % 3

    def second(function, parts):
        out = function(*parts)
        first = torch.autograd.grad(out.pow(3).sum(), parts, create_graph=True)
        return torch.autograd.grad(sum(part.square().sum() for part in first), parts)

    exact = second(lambda *p: factored(graph, pattern, factor)(*p, graph), parts)
    found = second(lambda *p: attend(*p, pattern, factor.float()), single(parts))
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(
            one.double(), other, rtol=1e-3, atol=1e-4 * float(other.abs().max())
        )


def dense_weights(target, source, graph):
    nodes, heads = target.shape
    eye = torch.eye(nodes, dtype=torch.float64)[:, None].expand(nodes, heads, nodes)
    rows = eye.reshape(nodes, heads * nodes)
    out = dense_attention(rows, target, source, graph)
    return out.view(nodes, heads, nodes).transpose(1, 2)


def spread_slots(factor, pattern, nodes):
    spread = torch.zeros(nodes, nodes, factor.shape[1], dtype=factor.dtype)
    spread[pattern.row, pattern.column.long()] = factor
    return spread


def test_gat_drops_attention_in_training_alone_and_scales_what_is_left():
    model = GAT(TASK.features.shape[1], 16, 3, dropout=0.0, attention_dropout=0.5)
    plain = GAT(TASK.features.shape[1], 16, 3, dropout=0.0)
    plain.load_state_dict(model.state_dict())
    pattern = model.prepare(TASK.graph)
    assert torch.equal(model.eval()(TASK.features, pattern), plain.eval()(TASK.features, pattern))
    model.train()
    one, again, other = (
        model(TASK.features, pattern, noise=DropoutNoise(seed)) for seed in (5, 5, 6)
    )
    assert torch.equal(one, again)
    assert not torch.allclose(one, other)
    factors = model.factor(model.first, torch.zeros(1, 8), pattern, DropoutNoise(5))
    assert set(factors.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(
        factors, model.factor(model.second, torch.zeros(1, 8), pattern, DropoutNoise(5))
    )
