"""The compiled sparse Cholesky: any graph, any number of channels, against dense solutions."""

import numpy as np
import pytest

from elasticgnn.graph import grid_graph
from elasticgnn.solver.linear_algebra.factor import (
    CholeskyFactor,
    LuFactor,
    QdldlFactor,
    SingularSystemError,
)
from elasticgnn.solver.linear_algebra.pattern import Pattern
from elasticgnn.solver.problem.geometry import Geometry
from marks import needs_kernels
from solver_signals import chain, random_graph

pytestmark = needs_kernels


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def lower(row, column, nodes, channels):
    """The pattern of these entries and of the diagonal, by column, then row."""
    ends = {(max(pair), min(pair)) for pair in zip(row, column, strict=True)}
    ends |= {(node, node) for node in range(nodes)}
    places = np.array(sorted(ends, key=lambda end: (end[1], end[0])), dtype=np.int32).reshape(-1, 2)
    return Pattern(nodes, channels, places[:, 0], places[:, 1])


def of_graph(graph, channels, order=0):
    """The pattern of the node system of a graph."""
    operator = Geometry(graph, order).operator
    product = (abs(operator).T @ abs(operator)).tocoo()
    return lower(product.row, product.col, graph.num_nodes, channels)


def star_with_tail():
    """A hub with very many neighbours, isolated nodes and a ring."""
    row = [0] * 90 + list(range(100, 129)) + [129]
    column = [*range(1, 91), *range(101, 130), 100]
    return lower(row, column, 135, 2)


PATTERNS = {
    "grid": lambda: of_graph(grid_graph(40, 37), 1),
    "grid of order 2": lambda: of_graph(grid_graph(24, 23), 1, order=2),
    "grid, three channels": lambda: of_graph(grid_graph(21, 20), 3, order=1),
    "random": lambda: of_graph(random_graph(3, 60), 4),
    "chain": lambda: of_graph(chain(700), 8),
    "hub": star_with_tail,
    "nothing but a diagonal": lambda: lower([], [], 5, 2),
    "one node": lambda: lower([], [], 1, 1),
}


def filled(pattern, factor):
    """Random numbers in the factor's room, and the same matrix dense."""
    d, size = pattern.channels, pattern.size
    place, number = factor.places(pattern), rng().normal(size=(len(pattern.row), d * d))
    matrix = np.zeros((size, size))
    for e, (i, j) in enumerate(zip(pattern.row, pattern.column, strict=True)):
        for a in range(d):
            for b in range(a + 1 if i == j else d):
                row, column = i * d + a, j * d + b
                matrix[row, column] = matrix[column, row] = number[e, a * d + b]
    heavy = np.abs(matrix).sum(1) + 1  # diagonally dominant
    matrix[np.arange(size), np.arange(size)] = heavy
    for e, (i, j) in enumerate(zip(pattern.row, pattern.column, strict=True)):
        for a in range(d):
            for b in range(d):
                if place[e, a * d + b] >= 0:
                    factor.room[place[e, a * d + b]] = matrix[i * d + a, j * d + b]
    return matrix


@pytest.mark.parametrize("library", [CholeskyFactor, QdldlFactor, LuFactor])
@pytest.mark.parametrize("name", PATTERNS)
def test_solutions_are_those_of_the_dense_matrix(name, library):
    pattern = PATTERNS[name]()
    factor = library(pattern)
    for _ in range(2):  # a factor is used again and again
        factor.room[:] = 0.0
        matrix = filled(pattern, factor)
        factor.factorise()
        right = rng().normal(size=pattern.size)
        expected = np.linalg.solve(matrix, right)
        np.testing.assert_allclose(factor.solve(right.copy()), expected, rtol=1e-9, atol=1e-12)


def test_every_number_has_a_place_of_its_own():
    pattern = PATTERNS["grid, three channels"]()
    factor = CholeskyFactor(pattern)
    place = factor.places(pattern)
    assert np.array_equal(place >= 0, pattern.is_lower)
    used = place[place >= 0]
    assert len(np.unique(used)) == len(used)
    assert used.max() < len(factor.room)


@pytest.mark.parametrize("name", ["grid", "hub"])
def test_an_indefinite_matrix_is_refused(name):
    pattern = PATTERNS[name]()
    factor = CholeskyFactor(pattern)
    filled(pattern, factor)
    factor.room *= -1
    with pytest.raises(SingularSystemError):
        factor.factorise()


def test_a_tree_does_not_fill_up():
    pattern = of_graph(chain(500), 1)
    # small runs of columns are stored as one, which costs a few zeros
    assert len(CholeskyFactor(pattern).room) < 5 * len(pattern.row)


def test_a_grid_fills_up_as_nested_dissection_promises():
    sizes = [len(CholeskyFactor(of_graph(grid_graph(s, s), 1)).room) for s in (40, 80)]
    assert sizes[1] < 6 * sizes[0]  # n log n: 4.8; a band would be 8
    work = [CholeskyFactor(of_graph(grid_graph(s, s), 1)).work for s in (40, 80)]
    assert work[1] < 12 * work[0]  # n sqrt n: 8; a band would be 16
