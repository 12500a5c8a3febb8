"""Which differences are zero: the answer says so whatever its loss, its gaps and its strength."""

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import Verdict, lambda1_max, minimise, piece_intervals
from solver_signals import chain

RNG = np.random.default_rng(4)
NOISE = torch.from_numpy(RNG.normal(size=(12, 2)) + 2)
GRIDS = {"chain": chain(12), "grid": grid_graph(4, 3, normalization="none")}
LOSSES = {
    "squared": {},
    "huber": {"loss": "huber:0.5"},
    "quantile": {"loss": "quantile:0.4"},
    "bounds that nothing touches": {"lower": -10.0},
    "a bound that all touch": {"lower": 6.0},
    "lasso": {"sparsity": 0.01},
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("strength", [60.0, 1e4, 1e12, 1e300])
def test_a_flat_answer_is_one_piece_and_certified(name, kind, strength):
    for norm in ("l1", "l21"):
        penalty = ElasticPenalty(strength, 0.0, norm)
        solution = minimise(NOISE, GRIDS[name], penalty, **LOSSES[kind])
        assert solution.certified
        assert not solution.pieces().any()


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("strength", [1e3, 1e9, 1e300])
def test_a_free_trend_without_knots_is_a_polynomial_to_rounding(order, strength):
    place = np.linspace(-1, 1, 60)
    x = place + 0.1 * np.random.default_rng(order).normal(size=60)
    penalty = ElasticPenalty(strength, 0.0)
    solution = minimise(
        torch.from_numpy(x), chain(60), penalty, order=order, boundary="free", rtol=1e-6
    )
    fitted = np.polyval(np.polyfit(place, x, order), place)
    assert np.abs(solution.value.numpy() - fitted).max() < 1e-7
    assert solution.verdict is not Verdict.UNCERTIFIED
    assert len(solution.knots()) == 0


def test_a_channel_of_rows_that_jump_together_jumps_with_them():
    truth = np.zeros((30, 2))
    truth[10:] += [10.0, 0.0]
    truth[20:] += [0.6, 0.8]
    x = torch.from_numpy(truth + 0.01 * RNG.normal(size=truth.shape))
    solution = minimise(x, chain(30), ElasticPenalty(0.3, 0.0, "l21"))
    first = solution.pieces(channel=0)
    assert first[19] != first[20]


def test_what_has_no_value_adds_no_degree_of_freedom():
    graph = Graph.from_edges([(0, 1), (1, 2), (3, 4), (4, 5)], normalization="none")
    x = torch.tensor([1.0, 1.1, 3.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    seen = torch.tensor([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    pieces = minimise(x, graph, ElasticPenalty(0.3, 0.0), data_weight=seen)
    assert pieces.pieces().tolist() == [0, 0, 1, 2, 2, 2]
    assert pieces.degrees_of_freedom() == 2
    smooth = minimise(x, graph, ElasticPenalty(0.0, 0.5), data_weight=seen)
    alone = minimise(x[:3], chain(3), ElasticPenalty(0.0, 0.5))
    draws = [torch.Generator().manual_seed(seed) for seed in (0, 0)]
    trace = np.trace(
        np.linalg.inv(np.eye(3) + 0.5 * np.array([[1, -1, 0], [-1, 2, -1], [0, -1, 1]]))
    )
    for one, draw in zip((smooth, alone), draws, strict=True):
        assert one.degrees_of_freedom(draw) == pytest.approx(trace, abs=0.7)


def test_intervals_take_weights_per_entry():
    x = torch.tensor([[0.0, 1.0], [0.1, 1.1], [0.2, 9.0]], dtype=torch.float64)
    seen = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    options = {"data_weight": seen, "generator": torch.Generator().manual_seed(0)}
    found = piece_intervals(x, chain(3), ElasticPenalty(100.0, 0.0), 0.5, **options)
    width = found.high - found.low
    assert found.size.tolist() == [3]
    assert float(width[0, 1] / width[0, 0]) == pytest.approx(1.5**0.5)


def test_the_unit_does_not_slow_the_largest_strength_down():
    x, graph = NOISE[:, 0], GRIDS["grid"]
    usual = lambda1_max(x, graph).value
    for unit in (2.0**-1000, 2.0**1000):
        assert lambda1_max(x * unit, graph).value == usual * unit


@pytest.mark.parametrize(("unit", "words"), [(1e-162, "below"), (1e160, "above")])
def test_an_objective_outside_the_range_is_said_in_words(unit, words):
    solution = minimise(NOISE * unit, GRIDS["chain"], ElasticPenalty(unit, 0.0))
    assert solution.certified
    assert f"objective {words} what float64 can hold" in solution.summary()
    constant = minimise(torch.ones(12, dtype=torch.float64), GRIDS["chain"], ElasticPenalty(1.0))
    assert "objective 0, gap 0.00e+00" in constant.summary()


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("lambda1", [0.0, 0.05])
def test_many_channels_with_gaps_are_certified(order, lambda1):
    rng = np.random.default_rng(order)
    x, seen = (torch.from_numpy(rng.normal(size=(12, 11))) for _ in range(2))
    penalty = ElasticPenalty(lambda1, 1e-4, "l21")
    solution = minimise(x, GRIDS["grid"], penalty, data_weight=(seen > 0).double(), order=order)
    assert solution.certified


def test_pieces_are_those_of_the_same_strength_written_otherwise():
    truth = np.zeros((30, 2))
    truth[10:], truth[20:] = [10.0, 1.0], [10.02, 1.02]
    x = torch.from_numpy(truth + 0.001 * np.random.default_rng(37).normal(size=truth.shape))
    strong, options = 2.0**14, {"rtol": 1e-6, "method": "interior"}
    plain = minimise(x, chain(30), ElasticPenalty(0.05, 0.0, "l1"), **options)
    strength = torch.full((2,), strong, dtype=torch.float64)
    penalty = ElasticPenalty(0.05 / strong, 0.0, "l1")
    other = minimise(x, chain(30), penalty, channel_strength=strength, **options)
    assert torch.equal(other.pieces(), plain.pieces())


def test_data_that_nothing_smooths_have_all_their_freedom():
    x = torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    seen = torch.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for norm in ("l1", "l21"):
        found = minimise(x, chain(3), ElasticPenalty(0.0, 0.0, norm), data_weight=seen)
        assert found.degrees_of_freedom() == 5
