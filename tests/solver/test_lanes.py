"""Problems solved side by side: the compiled steps, and the path that they make."""

import numpy as np
import pytest
import torch

from at_work import threads_at_work
from elasticgnn.graph import grid_graph
from elasticgnn.kernels import tuning
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import log_grid, minimise, minimise_path
from elasticgnn.solver.ascent import native
from elasticgnn.solver.ascent.reference import PlainAscent
from elasticgnn.solver.certificate.measure import measure
from elasticgnn.solver.methods import stopping
from elasticgnn.solver.paths import halving, lanes
from elasticgnn.solver.problem.instance import build_instance
from elasticgnn.solver.problem.mesh import loops
from marks import needs_kernels
from solver_signals import random_graph

STRENGTHS = np.geomspace(0.02, 3.0, lanes.ASCENTS)


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def lane_ascent(instance, starts):
    ascent = lanes.LaneAscent(native.build_scaled(instance))
    for lane, lambda1 in enumerate(STRENGTHS):
        ascent.load(lane, lambda1, starts[lane])
    return ascent


@needs_kernels
@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("channels", [1, 2, 3, 5])
@pytest.mark.parametrize("lambda2", [0.0, 0.4])
@pytest.mark.parametrize("weighted", [True, False])
def test_lanes_follow_the_plain_definition(norm, channels, lambda2, weighted):
    graph = random_graph(6, 30) if weighted else grid_graph(6, 5)
    x = normal(30, channels)
    made = [
        build_instance(x, graph, ElasticPenalty(float(strength), lambda2, norm), None, 0)
        for strength in STRENGTHS
    ]
    starts = [None, *(0.001 * normal(graph.num_edges, channels, seed=k).numpy() for k in range(7))]
    ascent = lane_ascent(made[0], starts)
    ascent.advance(9)
    ascent.advance(6)
    for lane, instance in enumerate(made):
        begin = np.zeros((graph.num_edges, channels)) if starts[lane] is None else starts[lane]
        plain = PlainAscent(instance, instance.data_weight, instance.x, begin)
        plain.advance(15)
        # 15 steps on numbers of size 1: a few dozen roundings of 6e-8
        np.testing.assert_allclose(ascent.flow_of(lane), plain.flow, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("channels", [1, 2, 5])
@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_lanes_have_the_same_bits_on_any_number_of_threads(channels, norm, monkeypatch):
    monkeypatch.setattr(tuning, "SOLVER_ONE_THREAD", 1)  # scratch for every thread
    graph, x = grid_graph(120, 90), normal(10_800, channels)
    instance = build_instance(x, graph, ElasticPenalty(0.5, 0.0, norm), None, 0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        one, three, again = (lane_ascent(instance, [None] * lanes.ASCENTS) for _ in range(3))
    finally:
        torch.set_num_threads(before)
    loops().solver_ascents(one.handle, 12, 1)
    loops().solver_ascents(three.handle, 12, 3)
    assert threads_at_work(lambda: loops().solver_ascents(again.handle, 12, 3)) >= 3
    assert np.abs(one.flow).max() > 0
    assert np.array_equal(one.flow, three.flow)
    assert np.array_equal(one.age, three.age)


@needs_kernels
def test_more_threads_than_there_is_scratch_for_are_refused():
    penalty = ElasticPenalty(0.5, 0.0)  # so few edges that there is scratch for one thread
    instance = build_instance(normal(9, 1), grid_graph(3, 3), penalty, None, 0)
    ascent = lane_ascent(instance, [None] * lanes.ASCENTS)
    with pytest.raises(ValueError, match="threads must be at most"):
        loops().solver_ascents(ascent.handle, 1, 2)


@needs_kernels
@pytest.mark.parametrize("normalization", ["degree", "none"])
@pytest.mark.parametrize(("norm", "lambda2"), [("l1", 0.0), ("l21", 0.0), ("l21", 0.7)])
def test_every_point_of_a_path_keeps_its_promise(normalization, norm, lambda2):
    graph, x = random_graph(3, 40, normalization), normal(40, 3)
    values = [0.0, *log_grid(2.0, 14)]
    path = minimise_path(x, graph, values, lambda2=lambda2, norm=norm)
    assert path.certified
    for value, solution in zip(values, path, strict=True):
        penalty = ElasticPenalty(value, lambda2, norm)
        exact = minimise(x, graph, penalty, rtol=1e-12)
        assert solution.objective - solution.gap <= exact.objective + exact.gap
        assert solution.gap <= max(1e-6 * solution.objective, 1e-12)
        instance = build_instance(x, graph, penalty, None, 0)
        flow = solution.dual.numpy() * instance.row_weight[:, None]
        again = measure(instance, solution.value.numpy(), flow)
        assert again.objective == pytest.approx(solution.objective, rel=1e-12)
        assert again.gap == pytest.approx(solution.gap, rel=1e-3, abs=1e-12)


@needs_kernels
def test_a_lane_that_is_stuck_is_solved_alone(monkeypatch):
    x, graph, values = normal(400, 1), grid_graph(20, 20), log_grid(3.0, 8, span=0.1)
    alone = []

    def solve(prepared, stop, guess, method):
        alone.append(prepared.instance.lambda1)
        return real(prepared, stop, guess, method)

    real = lanes.solve
    monkeypatch.setattr(lanes, "solve", solve)
    monkeypatch.setattr(stopping, "FLOAT32_PATIENCE", -1)
    path = minimise_path(x, graph, values)
    assert path.certified
    assert alone


@needs_kernels
def test_seconds_of_the_points_add_up_to_the_path(monkeypatch):
    clock = iter([10.0, 13.0])
    monkeypatch.setattr(halving.time, "perf_counter", lambda: next(clock, 13.0))
    path = minimise_path(normal(100, 1), grid_graph(10, 10), log_grid(3.0, 8))
    assert sum(solution.seconds for solution in path) == pytest.approx(3.0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 17, 50, 200])
def test_every_start_lies_between_two_values_that_are_solved_before(count):
    ends = halving.bracket_ends(log_grid(1.0, count))
    assert sorted(ends) == list(range(count))

    def depth(place):
        return 1 + max((depth(end) for end in ends[place]), default=0)

    for place, bracket in ends.items():
        assert not bracket or bracket[0] < place < bracket[1]
    assert max(depth(place) for place in ends) == {50: 2, 200: 4}.get(count, 1)


def test_values_far_apart_all_begin_at_zero():
    assert not any(halving.bracket_ends([0.1, 1.0, 10.0, 100.0]).values())


@needs_kernels
def test_python_and_the_loops_agree_on_the_number_of_lanes():
    assert loops().ASCENTS == lanes.ASCENTS
