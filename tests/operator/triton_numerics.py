"""The kernels of GPUs in Triton's interpreter, on the CPU: run by test_triton.py.

TRITON_INTERPRET=1 must be set before triton is imported, so this file has a process of its own.
Here CPU tensors stand for a device's: the operators and the route are told so.
"""

import warnings

import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import explain_route, routes
from elasticgnn.operator.triton import loops, route, tables, work
from strategies import normal_rows, random_graph

CONCAVITY = {"mcp": 60.0, "scad": 60.0}
STAR = [(0, j) for j in range(1, 9)]
PAIRS = [*STAR, (1, 2), (3, 7), (10, 11)]  # 9 and 12 are isolated
HUBS = Graph.from_edges([(i, j, 0.5 + j / 10) for i, j in PAIRS], 13)
WEIGHTED = random_graph(9, 16, weighted=True)


_patch, _patched = interpreter._patch_lang, set()


def patch_once(function):
    """The interpreter patches its language at every call of a function: once is enough."""
    languages = {id(m) for m in function.__globals__.values() if m is tl or m is tl.core}
    if not languages <= _patched:
        _patch(function)
        _patched.update(languages)
    return interpreter._LangPatchScope()  # restores nothing


interpreter._patch_lang = patch_once
LIBRARY = torch.library.Library("elasticgnn", "IMPL")  # lasts as long as the process
with warnings.catch_warnings(action="ignore"):
    LIBRARY.impl("propagate", loops.forward, "CPU", allow_override=True)
    LIBRARY.impl("propagate_backward", loops.backward, "CPU", allow_override=True)


@pytest.fixture(autouse=True)
def _cpu_as_a_device(monkeypatch):
    monkeypatch.setattr(route, "DEVICES", ("cpu",))
    first = tuple(r for r in routes.ROUTES if r.name in ("triton", "plain"))
    monkeypatch.setattr(routes, "ROUTES", first)
    monkeypatch.setattr(tables, "HUB_DEGREE", 7)
    # larger tiles than a GPU likes: the interpreter's time goes by programs, not by numbers
    monkeypatch.setattr(loops, "tile_for", lambda width: tables.tile_for(width, 128 * width))
    monkeypatch.setattr("elasticgnn.operator.fused_op.is_unwatched", lambda x: False)


def gradients(x, graph, norm, steps, implementation, memory="fast", strengths=(0.3, 1.2)):
    """The result, and its gradients by x, weights, lambda1 and lambda2."""
    runs = 1 if x.ndim == 2 else x.shape[1]
    numbers = [torch.full((runs,), s, dtype=x.dtype) for s in strengths]
    numbers[0] *= torch.linspace(1.0, 0.5, runs, dtype=x.dtype)
    weight = graph.weight.to(x.dtype)
    moving = [t.clone().requires_grad_() for t in (x, weight, *numbers)]
    penalty = ElasticPenalty(*moving[2:], norm, CONCAVITY.get(norm))
    options = {"implementation": implementation, "memory": memory, "edge_weight": moving[1]}
    out = elastic_message_passing(moving[0], graph, penalty, steps, **options)
    cotangent = normal_rows(*x.shape, seed=3, dtype=x.dtype)
    return [out.detach(), *torch.autograd.grad(out, moving, cotangent)]


def assert_equal_to_plain(x, graph, norm, steps, memory="fast", tolerance=1e-9):
    found = gradients(x, graph, norm, steps, "auto", memory)
    exact = gradients(x, graph, norm, steps, "reference")
    for left, right in zip(found, exact, strict=True):
        assert float((left - right).abs().max()) <= tolerance * max(1, float(right.abs().max()))


def test_the_route_is_taken():
    assert explain_route(normal_rows(13, 3), HUBS, ElasticPenalty()).taken == "triton"
    wide = explain_route(normal_rows(13, 1025), HUBS, ElasticPenalty())
    assert wide.refusals[0] == ("triton", "a row has 1025 channels, the kernels take 1024")


@pytest.mark.parametrize("width", [1, 3, 7, 16, 40, 64, 200])
def test_every_width_on_hubs_and_isolated_nodes(width):
    x = normal_rows(13, width, dtype=torch.float32)
    assert_equal_to_plain(x, HUBS, "l21", 2, tolerance=2e-5)


@pytest.mark.parametrize(
    ("norm", "memory"),
    [("l1", "fast"), ("l21", "fast"), ("l21", "lean"), ("mcp", "fast"), ("scad", "fast")],
)
def test_every_norm_and_gradient_with_weights(norm, memory):
    assert_equal_to_plain(normal_rows(9, 3), WEIGHTED, norm, 5, memory)


@pytest.mark.parametrize("norm", ["l21", "l1", "mcp", "scad"])
def test_without_strength_equal_rows_have_the_gradient_of_quadratic_smoothing(norm):
    x = torch.zeros(9, 3, dtype=torch.float64)
    found, exact = (
        gradients(x, WEIGHTED, norm, 3, implementation, strengths=(0.0, 1.2))
        for implementation in ("auto", "reference")
    )
    for left, right in zip(found, exact, strict=True):
        torch.testing.assert_close(left, right)


def test_runs_side_by_side():
    assert_equal_to_plain(normal_rows(9, 2, 3), WEIGHTED, "l21", 2)


def test_the_gradient_of_x_alone_keeps_one_node_row_a_step():
    x, penalty = normal_rows(9, 3), ElasticPenalty(0.3, 1.2)
    found = []
    for options in ({}, {"memory": "lean"}, {"implementation": "reference"}):
        y = x.clone().requires_grad_()
        elastic_message_passing(y, WEIGHTED, penalty, 5, **options).pow(3).sum().backward()
        found.append(y.grad)
    torch.testing.assert_close(found[0], found[2])
    torch.testing.assert_close(found[1], found[2])


def test_scad_and_mcp_beyond_their_bends():
    for norm, concavity in (("mcp", 1.5), ("scad", 2.6)):
        x = 6 * normal_rows(9, 2)
        assert CONCAVITY[norm] > concavity
        CONCAVITY[norm] = concavity
        try:
            assert_equal_to_plain(x, WEIGHTED, norm, 2)
        finally:
            CONCAVITY[norm] = 60.0


def test_a_dual_in_bfloat16_is_off_by_its_rounding():
    x = normal_rows(9, 3, dtype=torch.float32)
    half = gradients(x, WEIGHTED, "l21", 5, "auto", "half")
    full = gradients(x, WEIGHTED, "l21", 5, "reference")
    assert 0 < float((half[0] - full[0]).abs().max()) < 5 * 0.3 / 512
    torch.testing.assert_close(half[1], full[1], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("transform", ["autograd", "func"])
def test_second_derivatives_are_the_plain_versions(transform):
    def gradient_norm(weight, implementation):
        def loss(y):
            options = {"edge_weight": weight, "implementation": implementation}
            return elastic_message_passing(y, WEIGHTED, penalty, 2, **options).pow(3).sum()

        if transform == "func":
            return torch.func.grad(loss)(x).square().sum()
        (first,) = torch.autograd.grad(loss(x), x, create_graph=True)
        return first.square().sum()

    x, penalty = normal_rows(9, 2).requires_grad_(), ElasticPenalty(0.3, 1.2)
    found, exact = (
        torch.func.grad(lambda w, i=implementation: gradient_norm(w, i))(WEIGHTED.weight)
        if transform == "func"
        else torch.autograd.grad(
            gradient_norm(weight := WEIGHTED.weight.requires_grad_(), implementation), [weight, x]
        )
        for implementation in ("auto", "reference")
    )
    torch.testing.assert_close(found, exact)


def test_the_same_bits_again_and_nothing_kept_without_a_gradient():
    x = normal_rows(13, 7, dtype=torch.float32)
    first, second = (gradients(x, HUBS, "l21", 1, "auto") for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_not_a_number_stays_one():
    x = normal_rows(13, 3, dtype=torch.float32)
    x[0, 0] = float("nan")
    for norm in ("l1", "l21"):
        penalty = ElasticPenalty(0.3, 1.2, norm)
        found = elastic_message_passing(x, HUBS, penalty, 2)
        exact = elastic_message_passing(x, HUBS, penalty, 2, implementation="reference")
        assert torch.equal(found.isnan(), exact.isnan())


class Counter:
    """Launches, and the bytes of node and edge rows that kernels ask for."""

    def __init__(self, monkeypatch):
        self.launches, self.bytes = [], 0
        run, builder = work.launch, interpreter.InterpreterBuilder
        load, store = builder.create_masked_load, builder.create_masked_store

        def counted_launch(kernel, *rest, **meta):
            self.launches.append(kernel.fn.__name__)
            run(kernel, *rest, **meta)

        def counted(call):
            def access(this, pointers, *rest):
                mask = next(r.data for r in rest if r.data.dtype == bool)
                if mask.ndim == 3:
                    self.bytes += (
                        int(mask.sum()) * pointers.get_element_ty().primitive_bitwidth // 8
                    )
                return call(this, pointers, *rest)

            return access

        monkeypatch.setattr(work, "launch", counted_launch)
        monkeypatch.setattr(builder, "create_masked_load", counted(load))
        monkeypatch.setattr(builder, "create_masked_store", counted(store))


@pytest.mark.parametrize(("memory", "dual_bytes"), [("fast", 4), ("half", 2)])
def test_launches_and_bytes_are_those_of_the_plan(monkeypatch, memory, dual_bytes):
    count, steps, width = Counter(monkeypatch), 5, 3
    x = normal_rows(9, width, dtype=torch.float32).requires_grad_()
    m = WEIGHTED.num_edges
    out = elastic_message_passing(x, WEIGHTED, ElasticPenalty(0.3, 1.2), steps, memory=memory)
    assert count.launches == ["smooth_nodes", "ascend_edges"] * steps
    assert count.bytes == steps * m * width * (4 * 4 + 3 * dual_bytes)
    count.launches.clear()
    count.bytes = 0
    out.sum().backward()
    pair = ["adjoint_edges", "adjoint_nodes"]
    assert count.launches == ["replay_edges", *pair, "replay_edges", *pair * 4]
    replayed = 3 * 4 * steps + dual_bytes  # two ends read, one row stored; one dual was kept
    assert count.bytes == m * width * (steps * (4 * 4 + 5 * 4) + replayed)
