"""Factors that would not fit: predicted, and another method taken or a refusal said."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from elasticgnn import ElasticPenalty, Graph
from elasticgnn.graph import grid_graph
from elasticgnn.solver import minimise
from elasticgnn.solver.linear_algebra import fill
from elasticgnn.solver.linear_algebra.fill import FactorTooLargeError, check_pattern
from elasticgnn.solver.linear_algebra.pattern import Pattern

WORDS = "the factors of its system would take more than"
PENALTY = ElasticPenalty(0.5, 0.0)

# 100,000 nodes at random: the factor has some 10^9 numbers, 10 GB beside as many of its fronts.
# The process may not have 6 GB in all.
RANDOM = """
import resource, torch
resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, 6_000_000_000))
from elasticgnn import ElasticPenalty, Graph
from elasticgnn.solver import minimise
generator = torch.Generator().manual_seed(0)
ends = torch.randint(100_000, (2, 400_000), generator=generator)
graph = Graph.from_edge_index(ends[:, ends[0] != ends[1]], 100_000, undirected=True)
x = torch.randn(100_000, generator=generator, dtype=torch.float64)
seen = (torch.arange(100_000) % 3 > 0).double()
found = minimise(x, graph, ElasticPenalty(0.5, 0.0), data_weight=seen, max_steps=20)
print(found.method, found.reason, sep=": ")
"""


def star(leaves: int) -> Graph:
    return Graph.from_edges([(0, leaf) for leaf in range(1, leaves + 1)], normalization="none")


def signal(nodes: int) -> torch.Tensor:
    return torch.randn(nodes, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def gaps(nodes: int) -> torch.Tensor:
    return (torch.arange(nodes) % 3 > 0).double()


def test_a_factor_of_gigabytes_is_not_begun():
    done = subprocess.run([sys.executable, "-c", RANDOM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"ascent: values are missing, but {WORDS} 2 GB")


def test_a_hub_of_order_one_makes_a_full_matrix():
    found = minimise(
        signal(40_001), star(40_000), PENALTY, order=1, data_weight=gaps(40_001), max_steps=5
    )
    assert found.method == "ascent"
    assert WORDS in found.reason
    assert found.gap >= 0


def test_a_hub_of_order_two_has_no_operator():
    with pytest.raises(ValueError, match="order must be at most 1 on this graph"):
        minimise(signal(12_001), star(12_000), PENALTY, order=2)


@pytest.fixture
def little_memory(monkeypatch):
    """Half a megabyte: a grid of 60 x 60 does not fit, one of 10 x 10 does."""
    monkeypatch.setattr(fill, "MOST_BYTES", 5e5)


@pytest.mark.usefixtures("little_memory")
class TestLittleMemory:
    def test_what_fits_is_factorised(self):
        found = minimise(signal(100), grid_graph(10, 10), PENALTY, data_weight=gaps(100))
        assert (found.method, found.reason) == ("interior", "values are missing")

    @pytest.mark.parametrize("order", [0, 1, 2])
    def test_the_ascent_takes_over_and_says_why(self, order):
        found = minimise(
            signal(3600),
            grid_graph(60, 60),
            PENALTY,
            data_weight=gaps(3600),
            order=order,
            max_steps=50,
        )
        assert found.method == "ascent"
        assert WORDS in found.reason
        assert WORDS in found.summary()

    def test_a_method_asked_for_by_name_is_refused(self):
        with pytest.raises(ValueError, match=WORDS):
            minimise(signal(3600), grid_graph(60, 60), PENALTY, method="interior")

    def test_a_loss_that_no_other_method_takes_is_refused(self):
        with pytest.raises(ValueError, match="only the interior point method takes other losses"):
            minimise(signal(3600), grid_graph(60, 60), PENALTY, loss="huber:1")

    def test_a_gradient_is_refused(self):
        x = signal(3600).requires_grad_()
        found = minimise(x, grid_graph(60, 60), PENALTY)
        with pytest.raises(ValueError, match="where a gradient is asked for"):
            found.value.sum().backward()


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("compiled", [True, False])
def test_every_library_is_asked_for_no_more(compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr("elasticgnn.solver.linear_algebra.fill.native", None)
    small, large = (full_pattern(size) for size in (20, 400))
    check_pattern(small)
    with pytest.raises(FactorTooLargeError):
        check_pattern(large)


def full_pattern(nodes: int) -> Pattern:
    column, row = np.triu_indices(nodes)
    return Pattern(nodes, 1, row.astype(np.int32), column.astype(np.int32))
