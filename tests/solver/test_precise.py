"""Twice the digits of float64, and the problems that need them."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Verdict, minimise
from elasticgnn.solver.certificate.measure import measure
from elasticgnn.solver.certificate.products import EPS, ExactProducts, PlainProducts
from elasticgnn.solver.interior_point.cones import build_cones
from elasticgnn.solver.interior_point.precise import PreciseSystem, twofold_curvature
from elasticgnn.solver.linear_algebra.twofold import (
    TwofoldMatrix,
    over,
    plus,
    times,
    twofold_operator,
)
from elasticgnn.solver.problem.geometry import Geometry
from elasticgnn.solver.problem.instance import build_instance
from marks import needs_kernels
from solver_signals import chain

pytestmark = needs_kernels
DIGITS = Fraction(1, 2**98)


def fractions(pair):
    return [Fraction(h) + Fraction(low) for h, low in zip(*map(np.ravel, pair), strict=True)]


def random_pair(seed):
    rng = np.random.default_rng(seed)
    high = rng.normal(size=50) * 10.0 ** rng.uniform(-6, 6, 50)
    return high, high * rng.uniform(-1e-17, 1e-17, 50)


@pytest.mark.parametrize(
    ("ours", "exact"),
    [
        (plus, lambda a, b: a + b),
        (lambda a, b: times(a, b[0]), lambda a, b: a * Fraction(float(b))),
        (over, lambda a, b: a / b),
    ],
)
def test_pairs_are_right_to_all_their_digits(ours, exact):
    a, b = random_pair(0), random_pair(1)
    found = fractions(ours(a, b))
    for k, (one, other) in enumerate(zip(fractions(a), fractions(b), strict=True)):
        wanted = exact(one, other)
        assert abs(found[k] - wanted) <= DIGITS * max(abs(one), abs(other), abs(wanted))


def weighted(nodes=8, seed=0, normalization="none"):
    """A graph with cycles whose weights lie between 1e-6 and 1e6."""
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((nodes, nodes)) < 0.5, 1))
    pairs = np.concatenate([pairs, [(i, i + 1) for i in range(nodes - 1)]])
    pairs = np.unique(pairs, axis=0)
    weight = torch.from_numpy(10.0 ** rng.uniform(-6, 6, len(pairs)))
    index = torch.from_numpy(pairs.T.copy())
    return Graph.from_edge_index(index, nodes, weight, undirected=True, normalization=normalization)


def exact_operator(graph, order):
    """K by the definition, in fractions."""
    numbers = [[Fraction(float(v)) for v in a] for a in (graph.weight, graph.scale)]
    (weight, scale), nodes = numbers, graph.num_nodes
    ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    laplacian = [[Fraction(0)] * nodes for _ in range(nodes)]
    for w, (i, j) in zip(weight, ends, strict=True):
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            laplacian[a][b] += sign * w * scale[a] * scale[b]
    if order == 1:
        return laplacian
    return [
        [scale[i] * laplacian[i][k] - scale[j] * laplacian[j][k] for k in range(nodes)]
        for i, j in ends
    ]


def dense(matrix: TwofoldMatrix, nodes: int):
    out = [[Fraction(0)] * nodes for _ in range(len(matrix.start) - 1)]
    for row, column, value in zip(
        matrix.row, matrix.column, fractions((matrix.high, matrix.low)), strict=True
    ):
        out[row][column] += value
    return out


@pytest.mark.parametrize("normalization", ["none", "degree"])
@pytest.mark.parametrize("order", [1, 2])
def test_operators_have_twice_the_digits(order, normalization):
    graph = weighted(normalization=normalization)
    ours = dense(twofold_operator(Geometry(graph, order)), graph.num_nodes)
    for row, wanted in zip(ours, exact_operator(graph, order), strict=True):
        largest = max(map(abs, wanted))
        assert all(abs(a - b) <= DIGITS * largest for a, b in zip(row, wanted, strict=True))


@pytest.mark.parametrize("channels", [1, 3])
def test_systems_are_solved_where_float64_has_no_digit_left(channels):
    graph, rng = weighted(), np.random.default_rng(2)
    x = torch.from_numpy(rng.normal(size=(graph.num_nodes, channels)))
    instance = build_instance(x, graph, ElasticPenalty(1.0, 0.0), None, 2)
    live = np.arange(instance.num_rows)
    system, weight = PreciseSystem(instance, live), np.ones_like(instance.x)
    stiff = 10.0 ** rng.uniform(0, 8, len(live))
    system.factorise(weight, stiff[:, None, None] * np.eye(channels))
    high, low = system.solve_pair(instance.x)
    operator = exact_operator(graph, 2)
    for k in range(channels):
        signal = [Fraction(a) + Fraction(b) for a, b in zip(high[:, k], low[:, k], strict=True)]
        rows = [sum(a * b for a, b in zip(row, signal, strict=True)) for row in operator]
        for i, value in enumerate(signal):
            inflow = sum(
                row[i] * Fraction(s) * r for row, s, r in zip(operator, stiff, rows, strict=True)
            )
            assert abs(float(value + inflow - Fraction(instance.x[i, k]))) < 1e-9
    rows = np.array(operator, dtype=float)
    assert np.linalg.norm(rows.T * stiff @ rows, 2) > 1e17  # beside which 1 is lost in float64


def test_blocks_of_cones_stay_definite_in_all_digits():
    difference, flow = np.array([[1e8, 1e-8]]), np.array([[1.0 - 1e-13, 1e-17]])
    cones = build_cones(np.ones(1), difference, flow, 1e-12)
    blocks = twofold_curvature(cones, np.zeros(1), np.ones(2))
    (a, b), (_, d) = np.array(fractions((blocks[0][0], blocks[1][0]))).reshape(2, 2)
    assert a > 0
    assert a * d - b * b > 0


@pytest.mark.parametrize("loss", ["squared", "huber:0.5", "logistic"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_weights_over_twelve_decades_are_certified(seed, order, loss):
    graph, rng = weighted(12, seed), np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(12, 2)))
    given, options = torch.ones(12, dtype=torch.float64), {}
    given[3] = 0.0
    if loss == "logistic":  # without bounds nothing keeps a missing value near the others
        x, options = (x > 0).double(), {"lower": -3.0, "upper": 3.0}
    penalty = ElasticPenalty(0.3, 0.1)
    options |= {"order": order, "loss": loss, "data_weight": given, "rtol": 1e-4}
    solution = minimise(x, graph, penalty, **options)
    assert solution.certified, solution.summary()


@pytest.mark.parametrize("loss", ["huber:0.5", "quantile:0.3", "logistic", "poisson"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("lambda1", [1e6, 1e12, 1e300])
def test_strengths_beyond_all_trends_are_certified_for_every_loss(lambda1, order, loss):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.poisson(3.0, size=(30, 2)).astype(np.float64))
    x = (x > 2).double() if loss == "logistic" else x
    graph = grid_graph(6, 5, normalization="none")
    solution = minimise(x, graph, ElasticPenalty(lambda1, 0.0), order=order, loss=loss)
    assert solution.certified, solution.summary()
    assert float(solution.value.std(0).max()) < 1e-9


def test_method_and_reason_say_that_float64_did_not_do():
    graph = weighted(12, 1)
    x = torch.from_numpy(np.random.default_rng(1).normal(size=12))
    solution = minimise(x, graph, ElasticPenalty(0.3, 0.0), order=2, rtol=1e-4)
    assert (solution.method, solution.certified) == ("precise", True)
    assert "float64 has too few digits" in solution.reason
    assert "precise" in solution.summary()
    for most in (0, 1, 30):
        few = minimise(x, graph, ElasticPenalty(0.3, 0.0), order=2, rtol=1e-4, max_steps=most)
        assert few.steps <= most


def test_precise_can_be_asked_for_and_refuses_what_is_too_large():
    x = torch.from_numpy(np.random.default_rng(1).normal(size=40))
    penalty = ElasticPenalty(0.3, 0.0)
    asked = minimise(x, chain(40), penalty, order=1, method="precise")
    plain = minimise(x, chain(40), penalty, order=1)
    assert (asked.certified, asked.method) == (True, "precise")
    torch.testing.assert_close(asked.value, plain.value, atol=2e-3, rtol=0)
    with pytest.raises(ValueError, match="too large for twice the digits"):
        minimise(torch.zeros(30_000), chain(30_000), penalty, order=1, method="precise")


def test_answers_far_from_zero_are_rounded_together():
    """Entry by entry the rounding of an answer near 1e10 is what its trends would consist of."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(1e10 + rng.normal(size=20))
    solution = minimise(x, chain(20), ElasticPenalty(5.0, 0.3), order=2, rtol=1e-6)
    assert solution.verdict is Verdict.CERTIFIED, solution.summary()


def test_a_line_that_float64_cannot_hold_is_at_its_floor():
    """Its differences are rounding, which twice the digits see and cannot mend."""
    x = torch.linspace(0, 10, 50, dtype=torch.float64)
    solution = minimise(x, chain(50), ElasticPenalty(5.0, 0.0), order=1, boundary="free")
    assert solution.verdict is Verdict.ROUNDING_FLOOR
    torch.testing.assert_close(solution.value, x, atol=1e-14, rtol=0)


def test_exact_products_measure_the_same_with_less_rounding():
    graph = weighted(12, 3)
    x = torch.from_numpy(np.random.default_rng(3).normal(size=(12, 1)))
    instance = build_instance(x, graph, ElasticPenalty(0.3, 0.2), None, 2)
    flow = np.random.default_rng(4).normal(size=(instance.num_rows, 1))
    plain = measure(instance, instance.x, flow)
    exact = measure(instance, instance.x, flow, products=ExactProducts(instance))
    assert abs(plain.objective - exact.objective) <= plain.rounding
    assert abs(plain.gap - exact.gap) <= plain.rounding
    assert exact.rounding < plain.rounding


def exact_product(rows, signal):
    return [sum(k * f for k, f in zip(row, signal, strict=True)) for row in rows]


@pytest.mark.parametrize("normalization", ["none", "degree"])
@pytest.mark.parametrize("order", [1, 2])
def test_errors_of_exact_products_are_within_what_they_say(order, normalization):
    """A bound that promises too much would certify what is not; the signal nearly cancels."""
    graph = weighted(12, 5, normalization)
    rng = np.random.default_rng(7)
    signal = 1 + 1e-9 * rng.normal(size=(12, 1))
    signal[0] = 1000 / 3  # float64 cannot hold its distances to the others
    instance = build_instance(
        torch.from_numpy(signal), graph, ElasticPenalty(0.3, 0.2), None, order
    )
    flow = rng.normal(size=(instance.num_rows, 1))
    rows, products = exact_operator(graph, order), ExactProducts(instance)
    columns = [list(column) for column in zip(*rows, strict=True)]
    for (found, error), unit, wanted in (
        (products.differences(signal), 4, exact_product(rows, list(map(Fraction, signal[:, 0])))),
        (products.divergence(flow), 1, exact_product(columns, list(map(Fraction, flow[:, 0])))),
    ):
        for one, room, exact in zip(found[:, 0], error[:, 0], wanted, strict=True):
            assert abs(Fraction(one) - exact) <= unit * Fraction(EPS) * Fraction(room)


def test_errors_at_a_hub_are_within_what_float64_says():
    """Ten thousand times 0.1 has lost four digits, and so has the hub's own entry of K."""
    nodes, hub = 10_001, 1
    leaves = [i for i in range(nodes) if i != hub]
    weight = torch.full((nodes - 1,), 0.1, dtype=torch.float64)
    index = torch.tensor([[hub] * len(leaves), leaves])
    graph = Graph.from_edge_index(index, nodes, weight, undirected=True, normalization="none")
    signal = np.full((nodes, 1), 1.0)
    signal[hub] = 1e6
    instance = build_instance(torch.from_numpy(signal), graph, ElasticPenalty(1.0, 0.0), None, 1)
    found, error = PlainProducts(instance).differences(signal)
    exact = (nodes - 1) * Fraction(0.1) * (10**6 - 1)
    wrong = abs(Fraction(found[hub, 0]) - exact)
    assert wrong > 100 * Fraction(EPS) * exact
    assert wrong <= 4 * Fraction(EPS) * Fraction(error[hub, 0])


def test_equal_labels_are_one_piece():
    """Data that do not differ say nothing about what is usual for a difference."""
    graph = Graph.from_edge_index(
        torch.tensor([[0], [1]]), 2, torch.tensor([20369.0]), undirected=True, normalization="none"
    )
    x, options = torch.zeros(2, 2, dtype=torch.float64), {"lower": -3.0, "upper": 3.0}
    solution = minimise(
        x, graph, ElasticPenalty(1.04, 0.91, "l1"), loss="logistic", sparsity=0.083, **options
    )
    assert solution.certified, solution.summary()
    assert torch.equal(solution.value[0], solution.value[1])


def test_bounds_are_met_though_the_data_pull_nothing_at_first():
    rng = np.random.default_rng(5)
    graph = Graph.from_edge_index(
        torch.tensor([list(range(29)), list(range(1, 30))]),
        30,
        torch.from_numpy(10.0 ** rng.uniform(-6, 6, 29)),
        undirected=True,
    )
    x = torch.from_numpy(0.1 + 0.03 * rng.normal(size=(30, 3)))
    solution = minimise(x, graph, ElasticPenalty(0.0, 0.9), lower=0.02, upper=0.185)
    assert solution.certified, solution.summary()


def test_losses_of_data_far_from_zero_round_with_their_distance_only():
    """On a normalised graph nothing can be centred: the loss is counted from the data instead."""
    rng = np.random.default_rng(6)
    x = torch.from_numpy(1e9 + rng.normal(size=14))
    graph = grid_graph(7, 2)
    solution = minimise(x, graph, ElasticPenalty(1e-6, 0.0), order=0, loss="huber:0.5", rtol=1e-5)
    assert solution.certified, solution.summary()
