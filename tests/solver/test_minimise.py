"""The solver: known answers, agreement of its methods, options, and what it refuses."""

import math
import weakref
from functools import partial

import numpy as np
import pytest
import torch

from at_work import threads_at_work
from elasticgnn.graph import Graph, grid_graph
from elasticgnn.kernels import tuning
from elasticgnn.operator import elastic_message_passing
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
from elasticgnn.solver.ascent import backends, native
from elasticgnn.solver.ascent.threads import ThreadChoice
from elasticgnn.solver.methods.papc import PaperState, paper_step
from elasticgnn.solver.paths import lanes
from elasticgnn.solver.problem.instance import build_instance
from marks import needs_kernels
from solver_signals import chain, random_graph, steps


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def test_two_nodes_move_towards_each_other_by_lambda1():
    solution = minimise(torch.tensor([0.0, 3.0]), chain(2), ElasticPenalty(0.5, 0.0))
    torch.testing.assert_close(solution.value, torch.tensor([0.5, 2.5], dtype=torch.float64))
    assert solution.certified
    assert solution.objective == pytest.approx(0.25 + 0.5 * 2.0)


def test_large_lambda1_gives_the_mean_of_each_component():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4)], 6, normalization="none")
    x = torch.tensor([0.0, 3.0, 6.0, 1.0, 2.0, 7.0], dtype=torch.float64)
    solution = minimise(x, graph, ElasticPenalty(100.0, 0.0))
    expected = torch.tensor([3.0, 3.0, 3.0, 1.5, 1.5, 7.0], dtype=torch.float64)
    torch.testing.assert_close(solution.value, expected, atol=1e-3, rtol=0)


@pytest.mark.parametrize("normalization", ["degree", "none"])
def test_without_lambda1_it_solves_the_linear_system(normalization):
    graph = random_graph(2, 12, normalization)
    x = normal(12, 2)
    laplacian = graph.divergence(graph.difference(torch.eye(12, dtype=torch.float64)))
    expected = torch.linalg.solve(torch.eye(12, dtype=torch.float64) + 2 * laplacian, x)
    solution = minimise(x, graph, ElasticPenalty(0.0, 2.0), rtol=1e-12)
    torch.testing.assert_close(solution.value, expected, atol=1e-5, rtol=0)


def test_no_penalty_returns_the_signal():
    x = normal(12, 2)
    solution = minimise(x, random_graph(0, 12), ElasticPenalty(0.0, 0.0))
    torch.testing.assert_close(solution.value, x, atol=0, rtol=1e-15)
    assert solution.certified


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_paper_iteration_and_fast_method_agree(order, norm):
    graph, x = random_graph(4, 9), normal(9, 2)
    penalty = ElasticPenalty(0.3, 0.5, norm)
    fast = minimise(x, graph, penalty, order=order, rtol=1e-10)
    paper = minimise(x, graph, penalty, order=order, rtol=1e-10, method="papc")
    assert fast.certified
    assert paper.certified
    away = float(torch.linalg.vector_norm(fast.value - paper.value))
    assert away <= fast.distance_bound + paper.distance_bound


@pytest.mark.parametrize("normalization", ["degree", "none"])
def test_paper_steps_are_those_of_the_operator(normalization):
    graph, x, penalty = random_graph(5, 11, normalization), normal(11, 2), ElasticPenalty(0.4, 0.6)
    instance = build_instance(x, graph, penalty, None, 0)
    step, state = paper_step(instance), PaperState(instance.x, np.zeros((graph.num_edges, 2)))
    for _ in range(7):
        state = step(state)
    expected = elastic_message_passing(x, graph, penalty, 7, implementation="reference")
    torch.testing.assert_close(torch.from_numpy(state.signal), expected)


@needs_kernels
@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("lambda2", [0.0, 0.4])
def test_compiled_steps_equal_their_definition(norm, channels, lambda2):
    graph, x = random_graph(6, 30), normal(30, channels)
    instance = build_instance(x, graph, ElasticPenalty(0.2, lambda2, norm), None, 0)
    start = np.zeros((graph.num_edges, channels))
    fused = backends.NativeBackend(instance, start, instance.x, rtol=1e-12)
    plain = backends.PlainBackend(instance, start, instance.x)
    for backend in (fused, plain):
        backend.advance(25)
    np.testing.assert_allclose(fused.ascent.flow, plain.ascent.flow, atol=1e-12)
    np.testing.assert_allclose(fused.export(fused.check().raw), plain.check().raw, atol=1e-12)


@needs_kernels
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("lambda2", [0.0, 0.4])
def test_float32_steps_follow_the_float64_ones(weighted, channels, lambda2):
    graph = random_graph(6, 30) if weighted else grid_graph(6, 6)
    x = normal(graph.num_nodes, channels)
    instance = build_instance(x, graph, ElasticPenalty(0.2, lambda2), None, 0)
    start = np.zeros((graph.num_edges, channels))
    narrow, wide = (
        backends.NativeBackend(instance, start, instance.x, rtol=r) for r in (1e-4, 1e-12)
    )
    for backend in (narrow, wide):
        backend.advance(15)
    assert narrow.ascent.flow.dtype == np.float32
    # 15 steps on numbers of size 1: a few dozen roundings of 6e-8
    np.testing.assert_allclose(narrow.ascent.flow, wide.ascent.flow, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("side_by_side", [True, False])
def test_an_ascent_is_freed_with_its_last_name(side_by_side):
    # a cycle of references would keep its arrays until the collector happens to run
    graph, x = grid_graph(4, 4), normal(16, 1)
    scaled = native.build_scaled(build_instance(x, graph, ElasticPenalty(0.2, 0.0), None, 0))
    if side_by_side:
        ascent = lanes.LaneAscent(scaled)
    else:
        ascent = native.NativeAscent(scaled, scaled.stiff, scaled.center, np.float32)
    ascent.advance(3)
    seen = weakref.ref(ascent)
    del ascent
    assert seen() is None


@needs_kernels
def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    x, graph = normal(10_000, 2), grid_graph(100, 100)
    penalty = ElasticPenalty(0.3, 0.0)
    monkeypatch.setattr(tuning, "SOLVER_ONE_THREAD", 1)
    monkeypatch.setattr(  # all threads there are, whatever the clock says
        ThreadChoice, "advance", lambda self, steps, run: run(steps, self.threads)
    )
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(minimise(x, graph, penalty, method="ascent"))
            few = partial(minimise, x, graph, penalty, method="ascent", max_steps=20)
            assert threads_at_work(few) >= threads
    finally:
        torch.set_num_threads(before)
    assert found[0].steps > 20
    assert torch.equal(found[0].value, found[1].value)
    assert torch.equal(found[0].value, found[2].value)
    assert found[0].gap == found[1].gap == found[2].gap


@pytest.mark.parametrize("faster", [1, 2])
def test_steps_are_left_to_the_number_of_threads_that_was_faster(monkeypatch, faster):
    clock, runs = [0.0], []

    def run(steps, threads):
        runs.append((steps, threads))
        clock[0] += steps * (1.0 if threads == faster else 2.0)

    monkeypatch.setattr("elasticgnn.solver.ascent.threads.time.perf_counter", lambda: clock[0])
    choice = ThreadChoice(2)
    for _ in range(2):
        choice.advance(20, run)
    assert runs == [(4, 1), (4, 2), (12, faster), (20, faster)]
    choice.advance(0, run)
    assert len(runs) == 4


def test_works_without_the_compiled_loops(monkeypatch):
    x, graph, penalty = steps(generator(), channels=2), chain(120), ElasticPenalty(0.3, 0.0)
    fast = minimise(x, graph, penalty, rtol=1e-8)
    monkeypatch.setattr(native, "native", None)
    plain = minimise(x, graph, penalty, rtol=1e-5)
    assert plain.certified
    away = float(torch.linalg.vector_norm(fast.value - plain.value))
    assert away <= fast.distance_bound + plain.distance_bound


def test_missing_values_of_a_chain_lie_between_their_neighbours():
    x = torch.tensor([0.0, math.nan, math.nan, 4.0], dtype=torch.float64)
    seen = torch.tensor([1.0, 0.0, 0.0, 1.0])
    solution = minimise(x, chain(4), ElasticPenalty(0.0, 1.0), data_weight=seen)
    assert solution.certified
    # springs of stiffness 1 in a row: every link carries the same force
    expected = torch.tensor([0.8, 1.6, 2.4, 3.2], dtype=torch.float64)
    torch.testing.assert_close(solution.value, expected, atol=5e-3, rtol=0)


def test_node_of_double_data_weight_moves_half_as_far():
    weight = torch.tensor([2.0, 1.0])
    x = torch.tensor([0.0, 3.0], dtype=torch.float64)
    solution = minimise(x, chain(2), ElasticPenalty(0.5, 0.0), data_weight=weight)
    torch.testing.assert_close(solution.value, torch.tensor([0.25, 2.5], dtype=torch.float64))


def test_first_order_trend_keeps_a_straight_line():
    ends = torch.linspace(0, 1, 20, dtype=torch.float64)
    flat = minimise(ends, chain(20), ElasticPenalty(1.0, 0.0), order=0)
    line = minimise(ends, chain(20), ElasticPenalty(1.0, 0.0), order=1, rtol=1e-3)
    inner = slice(3, 17)
    bend = line.value[inner].diff().diff().abs().max()
    assert float(bend) < 1e-2
    assert float(line.value[inner].diff().min()) > float(flat.value[inner].diff().min())


def test_warm_start_needs_fewer_steps():
    x, graph = steps(generator(), nodes=300), chain(300)
    cold = minimise(x, graph, ElasticPenalty(0.5, 0.0), method="ascent")
    warm = minimise(x, graph, ElasticPenalty(0.501, 0.0), start=cold, method="ascent")
    assert warm.certified
    assert warm.steps < cold.steps / 2


def test_step_limit_is_reported_and_not_hidden():
    solution = minimise(
        steps(generator()), chain(120), ElasticPenalty(5.0, 0.0), max_steps=3, method="ascent"
    )
    assert not solution.certified
    assert solution.steps == 3
    assert solution.summary().startswith("NOT certified")


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_graphs_without_edges(nodes):
    graph = Graph.from_edge_index(torch.empty(2, 0, dtype=torch.int64), nodes)
    x = normal(nodes, 2)
    solution = minimise(x, graph, ElasticPenalty(1.0, 1.0))
    torch.testing.assert_close(solution.value, x, atol=0, rtol=1e-15)
    assert solution.certified
    assert solution.pieces().tolist() == list(range(nodes))


def test_float32_input_gives_a_float64_certificate():
    solution = minimise(steps(generator()).float(), chain(120), ElasticPenalty(0.5, 0.1))
    assert solution.value.dtype == torch.float64
    assert solution.certified


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(3)}, r"x must be a tensor \(4,\) or \(n, d\)"),
        ({"x": torch.full((4,), math.nan)}, "x must be finite where data_weight > 0"),
        ({"penalty": ElasticPenalty(1.0, 1.0, "mcp")}, "norm must be one of .*, got 'mcp'"),
        ({"penalty": ElasticPenalty(1.0, math.inf)}, "lambda2 must be finite"),
        ({"rtol": 0.0}, r"rtol must lie in \(0, 1\)"),
        ({"order": 3}, "order must be one of"),
        ({"method": "newton"}, "method must be one of"),
        ({"max_steps": -1}, "max_steps must be an integer >= 0"),
        ({"method": "forest", "order": 1}, "method must not be 'forest' for this problem: order"),
        ({"penalty": ElasticPenalty(torch.ones(3), 0.0)}, "lambda1 must be one number"),
        ({"data_weight": -torch.ones(4)}, "data_weight must be finite and >= 0"),
        ({"data_weight": torch.ones(3)}, r"data_weight must have shape \(4,\) or"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"x": torch.zeros(4), "penalty": ElasticPenalty(1.0, 0.0)} | change
    x, penalty = arguments.pop("x"), arguments.pop("penalty")
    with pytest.raises(ValueError, match=message):
        minimise(x, chain(4), penalty, **arguments)
