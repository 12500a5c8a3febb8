"""The compiled interior point against its definition in numpy, and the factors of its systems."""

import numpy as np
import pytest
import torch

from elasticgnn.graph import Graph, grid_graph
from elasticgnn.kernels import native
from elasticgnn.problem import ElasticPenalty
from elasticgnn.solver import minimise
from elasticgnn.solver.interior_point.rows import CompiledRows, PlainRows, RowProblem
from elasticgnn.solver.linear_algebra.assembly import NodeSystem, as_rows
from elasticgnn.solver.linear_algebra.factor import (
    BandFactor,
    CholeskyFactor,
    LuFactor,
    QdldlFactor,
    SingularSystemError,
)
from elasticgnn.solver.problem.instance import build_instance
from elasticgnn.solver.problem.trend import trend_operator
from marks import needs_kernels
from solver_signals import chain, random_graph


def rng():
    return np.random.default_rng(0)


def graphs():
    shuffled = torch.from_numpy(rng().permutation(40))
    index = torch.stack([shuffled[:-1], shuffled[1:]])
    moved = Graph.from_edge_index(index, 40, undirected=True, normalization="none")
    return {"chain": chain(40), "shuffled": moved, "grid": grid_graph(9, 8)}


def system(graph, order, channels):
    operator, _ = trend_operator(graph, order, "graph")
    return NodeSystem(operator, operator.T.tocsr(), channels)


def definite(channels, rows):
    """Positive definite blocks (r, d, d)."""
    root = rng().normal(size=(rows, channels, channels))
    return root @ root.transpose(0, 2, 1) + 0.1 * np.eye(channels)


def dense(operator, weight, curvature):
    """C + K' G K by its definition."""
    channels = weight.shape[1]
    wide = np.kron(operator.toarray(), np.eye(channels))
    out = np.diag(weight.ravel())
    for r, block in enumerate(curvature):
        rows = wide[r * channels : (r + 1) * channels]
        out += rows.T @ block @ rows
    return out


@pytest.mark.parametrize("name", ["chain", "shuffled", "grid"])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("channels", [1, 3, 9])
def test_a_node_system_is_solved_as_its_definition_says(name, order, channels):
    one = system(graphs()[name], order, channels)
    nodes, rows = one.operator.shape[1], one.operator.shape[0]
    weight, curvature = rng().exponential(size=(nodes, channels)), definite(channels, rows)
    one.factorise(weight, curvature)
    right = rng().normal(size=(nodes, channels))
    expected = np.linalg.solve(dense(one.operator, weight, curvature), right.ravel())
    assert np.allclose(one.solve(right.copy()).ravel(), expected, rtol=1e-8, atol=1e-10)


def test_narrow_bands_are_found_whatever_the_order_of_the_nodes():
    assert isinstance(system(graphs()["chain"], 2, 3).factor, BandFactor)
    assert isinstance(system(graphs()["shuffled"], 1, 2).factor, BandFactor)


@pytest.mark.parametrize("channels", [1, 2])
def test_the_sparse_factors_agree(channels):
    one = system(grid_graph(9, 8), 1, channels)
    weight, curvature = np.ones((72, channels)), definite(channels, 72)
    answers, right = [], rng().normal(size=72 * channels)
    kinds = [QdldlFactor, LuFactor] if native is None else [CholeskyFactor, QdldlFactor, LuFactor]
    for kind in kinds:
        one.factor = kind(one.pattern)
        for cached in ("place", "target"):
            one.__dict__.pop(cached, None)
        one.factorise(weight, curvature)
        answers.append(one.factor.solve(right.copy()))
    for answer in answers[1:]:
        assert np.allclose(answer, answers[0], rtol=1e-9)


def test_an_indefinite_band_is_refused():
    one = system(chain(6), 0, 1)
    with pytest.raises(SingularSystemError):
        one.factorise(-np.ones((6, 1)), np.zeros((5, 1, 1)))


@needs_kernels
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_compiled_pattern_is_the_plain_one(order):
    from elasticgnn.solver.linear_algebra.assembly import _plain_terms

    graph = random_graph(0, 30)
    one = system(graph, order, 1)
    row, column, sums = one._terms
    plain_row, plain_column, plain = _plain_terms(one.operator)
    assert np.array_equal(row, plain_row)
    assert np.array_equal(column, plain_column)
    curvature = rng().exponential(size=one.operator.shape[0])
    for terms in (sums, plain):
        assert len(terms.start) == len(row) + 1
    values = [np.add.reduceat(t.value * curvature[t.column], t.start[:-1]) for t in (sums, plain)]
    assert np.allclose(*values)


@needs_kernels
@pytest.mark.parametrize("channels", [1, 2, 3, 8])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_compiled_step_is_the_plain_one(order, channels):
    generator = torch.Generator().manual_seed(1)
    graph = grid_graph(6, 5, normalization="none")
    x = torch.randn(30, channels, generator=generator, dtype=torch.float64)
    seen = (torch.rand(30, generator=generator) > 0.2).double()
    weight = seen * (0.5 + torch.rand(30, generator=generator).double())
    instance = build_instance(x, graph, ElasticPenalty(0.3, 0.2), weight, order)
    omega, operator = instance.row_weight, instance.operator
    problem = RowProblem(
        operator, instance.adjoint, 0.3 * omega, 0.2 * omega, instance.data_weight, instance.x
    )
    states = []
    for kind in (PlainRows, CompiledRows):
        rows = kind(problem, NodeSystem(operator, instance.adjoint, channels))
        results = [rows.begin(instance.x, np.zeros((len(omega), channels)))]
        for mu in (0.3, 0.1):
            rows.scale(mu)
            results += [rows.predict(), rows.correct(0.1 * mu), rows.advance(0.5)]
        states.append((rows, results))
    (plain, plain_steps), (compiled, compiled_steps) = states
    assert np.allclose(plain.signal, compiled.signal, rtol=1e-9, atol=1e-12)
    assert np.allclose(plain.flow, compiled.flow, rtol=1e-9, atol=1e-12)
    for a, b in zip(plain_steps, compiled_steps, strict=True):
        assert np.allclose(_numbers(a), _numbers(b), rtol=1e-8)


def _numbers(result):
    if isinstance(result, float):
        return result
    return [result.objective, result.row_gap, result.node_gap, result.missing_residual]


@pytest.mark.parametrize("channels", [3, 9])
def test_any_number_of_channels_is_certified(channels):
    x = torch.from_numpy(rng().normal(size=(200, channels)).cumsum(0))
    solution = minimise(x, chain(200), ElasticPenalty(1.0, 0.0), order=1, method="interior")
    assert solution.certified


def test_a_matrix_keeps_what_the_loops_read():
    operator, _ = trend_operator(chain(5), 0, "graph")
    rows = as_rows(operator)
    assert rows.start.dtype == np.int32
    assert rows.column.dtype == np.int32
    assert np.array_equal(rows.value, operator.data)
