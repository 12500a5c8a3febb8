"""Every number that was tuned names the benchmark that it was tuned with, and can be set."""

import re
from pathlib import Path

import pytest
import torch

import elasticgnn
from elasticgnn import ElasticPenalty, Graph
from elasticgnn.graph.edge_tiles import count_blocks
from elasticgnn.kernels import native, tuning
from elasticgnn.operator import explain_route
from marks import needs_kernels

PACKAGE = Path(elasticgnn.__file__).parent
HEADER = (PACKAGE / "kernels" / "simd" / "tuning.h").read_text()
MODULE = (PACKAGE / "kernels" / "tuning.py").read_text()
BENCHMARKS = PACKAGE.parents[1] / "benchmarks"
FIELD = re.compile(
    r"((?:  //[^\n]*\n)*)  (?:std::int64_t|bool) (\w+) = "
)  # of `Tuning`, set at run time
CONSTANT = re.compile(r"((?:^//[^\n]*\n)*)^constexpr std::int64_t (\w+) = ", re.MULTILINE)
THRESHOLD = re.compile(r"((?:^#[^\n]*\n)*)^([A-Z]\w+) = ", re.MULTILINE)


def comments(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    """Per number the comment above it, or above its neighbour."""
    found, comment = {}, ""
    for above, name in pattern.findall(text):
        comment = above or comment
        found[name] = comment
    return found


FIELDS = comments(FIELD, HEADER)
TUNED = {**FIELDS, **comments(CONSTANT, HEADER), **comments(THRESHOLD, MODULE)}


def test_the_numbers_are_found():
    assert len(FIELDS) > 5
    assert {"cache_bytes", "kAheadRegisters", "SOLVER_ONE_THREAD"} <= TUNED.keys()
    assert {name for name in vars(tuning) if name.isupper()} <= TUNED.keys()


@pytest.mark.parametrize("name", TUNED)
def test_every_tuned_number_names_a_benchmark_that_exists(name):
    named = re.findall(r"bench_\w+\.py", TUNED[name])
    assert named
    assert all((BENCHMARKS / path).is_file() for path in named)


@needs_kernels
def test_every_number_that_the_loops_read_at_run_time_can_be_set():
    assert {name for name in dir(native.tuning) if not name.startswith("_")} == set(FIELDS)


def test_modules_read_thresholds_where_tests_set_them():
    copies = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"from elasticgnn\.kernels\.tuning import", path.read_text())
    ]
    assert not copies


@needs_kernels
def test_a_threshold_that_is_set_changes_the_choice(monkeypatch):
    assert count_blocks(1000, 5000) == 2
    monkeypatch.setattr(tuning, "ONE_TILE_EDGES", 0)
    assert count_blocks(1000, 5000) == 4
    graph, runs = Graph.from_edges([(0, 1), (1, 2)]), int(native.population_lanes) // 4
    x = torch.zeros(3, runs, 2)
    taken = [explain_route(x, graph, ElasticPenalty(1.0, 0.0)).taken]
    monkeypatch.setattr(tuning, "LEAST_LANES", 0.2)
    taken += [explain_route(x, graph, ElasticPenalty(1.0, 0.0)).taken]
    assert taken[0] != taken[1] == "population"
