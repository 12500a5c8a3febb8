"""Ctrl-C: the best point so far, and nothing hidden."""

import math
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import torch

from elasticgnn.graph import grid_graph
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import lambda1_max, minimise
from elasticgnn.solver.ascent import backends
from marks import needs_kernels
from solver_signals import chain, steps


@needs_kernels
def test_interrupt_returns_the_best_point_so_far():
    x, graph = steps(torch.Generator().manual_seed(0)), chain(120)
    calls = iter(["as it is", "as it is", "worse", "Ctrl-C"])
    real, seen = backends.NativeBackend.check, []

    def check(backend):
        kind = next(calls)
        if kind == "Ctrl-C":
            raise KeyboardInterrupt
        found = real(backend)
        if kind == "worse":
            gap = 10 * found.measure.objective
            return replace(found, signal=0 * found.signal, measure=replace(found.measure, gap=gap))
        seen.append(backend.export(found.signal))
        return found

    with mock.patch.object(backends.NativeBackend, "check", check):
        solution = minimise(x, graph, ElasticPenalty(20.0, 0.0), rtol=1e-12, method="ascent")
    assert not solution.certified
    assert solution.interrupted
    assert 0 < solution.gap < math.inf
    assert len(seen) == 2
    power = solution.value.numpy().ravel() / seen[1].ravel()  # of two: the solver's units
    np.testing.assert_allclose(power, 2.0 ** round(math.log2(power[0])), rtol=1e-12)


def test_an_undisturbed_solve_was_not_interrupted():
    x = steps(torch.Generator().manual_seed(0))
    assert not minimise(x, chain(120), ElasticPenalty(2.0, 0.0)).interrupted


@needs_kernels
def test_an_interrupt_ends_the_search_for_the_largest_lambda1(monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("elasticgnn.solver.methods.progress.GapProgress.show", stopped)
    with pytest.raises(KeyboardInterrupt):
        lambda1_max(torch.arange(200.0).view(100, 2).sin(), grid_graph(10, 10))
