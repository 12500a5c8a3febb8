"""The certificate is never wrong, and both of its implementations say the same."""

import argparse

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph
from elasticgnn.problem import ElasticPenalty, certify
from elasticgnn.solver import Verdict, minimise
from elasticgnn.solver.ascent import native
from elasticgnn.solver.certificate.measure import measure, project_flow
from elasticgnn.solver.found import with_verdict
from elasticgnn.solver.methods.choice import Choice
from elasticgnn.solver.methods.outcome import Outcome
from elasticgnn.solver.pieces.flatten import component_means
from elasticgnn.solver.problem.instance import build_instance
from elasticgnn.solver.problem.node_terms import Bounds
from elasticgnn.solver.problem.units import prepare
from marks import needs_kernels
from solver_signals import chain, random_graph, steps


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_certificate_of_a_thousand_problems_is_wrong(verify_certificate, seed, capsys):
    tally = verify_certificate.verify(250, 15, seed, 200)
    assert (tally.problems, tally.outside) == (250, 15)
    assert tally.violations == 0, capsys.readouterr().out


@pytest.mark.slow
def test_no_certificate_of_sixty_points_of_paths_is_wrong(verify_certificate, capsys):
    tally = verify_certificate.verify(60, 5, 7, 200, on_path=True)
    assert tally.violations == 0, capsys.readouterr().out
    # problems without a limit of steps are certified, or at the floor of float64
    assert tally.unlimited_certified + tally.unlimited_at_floor >= tally.unlimited - 1
    assert tally.certified >= 54


def test_verification_goes_on_where_it_was_stopped(verify_certificate, tmp_path, monkeypatch):
    options = argparse.Namespace(
        count=5,
        outside=0,
        seed=0,
        long_steps=5,
        paths=False,
        sparse=False,
        join=[],
        part=0,
        parts=1,
        output=tmp_path / "record.json",
    )
    monkeypatch.setattr(verify_certificate, "BATCH", 2)
    total = verify_certificate.verify_all(options)
    assert (total.problems, total.violations) == (5, 0)
    monkeypatch.setattr(verify_certificate, "verify", None)  # a second call would fail
    assert verify_certificate.verify_all(options) == total


@needs_kernels
@pytest.mark.parametrize("norm", ["l1", "l21"])
@pytest.mark.parametrize("lambda2", [0.0, 0.7])
@pytest.mark.parametrize("normalization", ["degree", "none"])
@pytest.mark.parametrize("missing", [(), (0, 7, 20)])
def test_compiled_gap_equals_its_definition(norm, lambda2, normalization, missing):
    graph = random_graph(3, 40, normalization)
    rng = np.random.default_rng(5)
    x = torch.from_numpy(rng.normal(size=(40, 3)))
    weight = torch.ones(40)
    weight[list(missing)] = 0.0
    instance = build_instance(x, graph, ElasticPenalty(0.4, lambda2, norm), weight, 0)
    signal = rng.normal(size=(40, 3))
    flow = project_flow(instance, rng.normal(size=(graph.num_edges, 3)))
    box, scale = Bounds(np.full((40, 3), -9.0), np.full((40, 3), 9.0)), instance.scale[:, None]
    expected = measure(instance, signal, flow, box)
    scaled = native.build_scaled(instance)
    _, flux = scaled.signal_of(flow, scaled.center, scaled.stiff)
    box = Bounds(box.low * scale, box.high * scale)
    found = native.measure_scaled(scaled, instance.missing, (signal * scale, flux), box)
    np.testing.assert_allclose(found.gap, expected.gap, rtol=1e-12)
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-12)
    # the two count roundings in slightly different units, but of the same size
    assert 0.2 < found.rounding / expected.rounding < 5


@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_gap_agrees_with_the_one_of_the_problem(norm):
    graph = random_graph(1, 20)
    x = torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    penalty = ElasticPenalty(0.2, 0.0, norm)
    solution = minimise(x, graph, penalty, max_steps=15, rtol=1e-12, method="ascent")
    outside = certify(solution.value, solution.dual, x, graph, penalty)
    assert solution.gap == pytest.approx(outside.gap, rel=1e-6)
    assert solution.objective == pytest.approx(outside.primal, rel=1e-12)


def test_gap_never_falls_below_its_rounding():
    x = 1e6 + torch.randn(30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    graph = Graph.from_edges([(i, i + 1) for i in range(29)], 30, normalization="degree")
    solution = minimise(x, graph, ElasticPenalty(0.5, 0.0), rtol=1e-18)
    assert solution.verdict is Verdict.ROUNDING_FLOOR
    assert not solution.certified
    # differences of scaled numbers around 1e6 are known to 1e-10 only, 29 of them times lambda1
    assert solution.gap > 1e-9


def test_a_flow_outside_its_ball_proves_nothing():
    """The gap's formulas hold inside the ball: a method that leaves it must not be believed."""
    x, graph = steps(torch.Generator().manual_seed(0)), chain(120)
    for order in (0, 1, 2):
        prepared = prepare(build_instance(x, graph, ElasticPenalty(0.01, 0.0), None, order))
        instance = prepared.instance
        signal = component_means(instance)
        right = instance.data_weight * (instance.x - signal)
        flow = np.linalg.lstsq(instance.adjoint.toarray(), right, rcond=None)[0]
        assert np.abs(flow).max() > 2 * instance.lambda1
        found = with_verdict(prepared, Outcome(signal, flow, 1), 1e-6, Choice("none", "a test"))
        assert found.measure.verdict(1e-6) is Verdict.UNCERTIFIED
        best = minimise(x, graph, ElasticPenalty(0.01, 0.0), order=order)
        lower = prepared.units.value_out(found.measure.objective - found.measure.gap)
        assert lower <= best.objective


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("normalization", ["none", "degree"])
def test_weak_edges_are_not_taken_for_flat(order, normalization):
    """What makes a trend flat grows with 1 / weight: this one was called flat, and certified."""
    index, weight = torch.tensor([[0, 0], [1, 2]]), torch.tensor([0.0042, 0.2456])
    graph = Graph.from_edge_index(
        index, 3, weight.double(), undirected=True, normalization=normalization
    )
    x = torch.tensor([0.0, 22.0351, 0.0], dtype=torch.float64)
    given, penalty = torch.tensor([0.0, 0.25, 0.75]), ElasticPenalty(83.35, 0.0)
    solution = minimise(x, graph, penalty, data_weight=given, order=order)
    other = minimise(x, graph, penalty, data_weight=given, order=order, method="papc")
    assert solution.certified
    assert solution.objective - solution.gap <= other.objective
    assert other.objective - other.gap <= solution.objective
