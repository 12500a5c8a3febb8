"""The fused operator against the plain definition, on graphs that Hypothesis invents."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.graph import grid_graph
from elasticgnn.kernels import native
from elasticgnn.operator import elastic_state, fused
from elasticgnn.problem import PENALTIES
from elasticgnn.problem.penalties.l21 import L21
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from elasticgnn.problem.step_sizes import step_sizes
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

pytestmark = needs_kernels

NORMS = (*PENALTIES,)
SHAPES = ((1, 1), (1, 3), (1, 5), (1, 7), (1, 8), (1, 16), (1, 33), (1, 40), (1, 70))
POPULATIONS = ((2, 1), (3, 4), (16, 7), (17, 3), (33, 2))


def penalty(norm: str, graph: Graph, lambda1: float | Tensor, lambda2: float | Tensor):
    """A penalty whose concavity, if any, suits the graph's step sizes."""
    if norm in CONVEX_NORMS:
        return ElasticPenalty(lambda1, lambda2, norm)
    largest = float(torch.as_tensor(lambda2).max())
    beta = (1 + largest * graph.norm_bound / 2) / graph.norm_bound
    smallest_beta = min(beta, 1 / graph.norm_bound)
    return ElasticPenalty(lambda1, lambda2, norm, concavity=3 + 1.5 / smallest_beta)


def distance(left: Tensor, right: Tensor) -> float:
    """Largest difference relative to the largest entry."""
    if left.numel() == 0:
        return 0.0
    return float((left - right).abs().max() / left.abs().max().clamp(min=1e-30))


@given(
    graph=graphs(),
    norm=st.sampled_from(NORMS),
    shape=st.sampled_from(SHAPES + POPULATIONS),
    lambda1=st.sampled_from([0.0, 0.1, 1.0, 50.0]),
    lambda2=st.sampled_from([0.0, 0.5, 3.0, float("inf")]),
    steps=st.integers(0, 6),
)
def test_fused_equals_reference_in_double_precision(graph, norm, shape, lambda1, lambda2, steps):
    if norm not in CONVEX_NORMS and lambda2 == float("inf"):
        lambda2 = 3.0
    x = normal_rows(graph.num_nodes, *shape)
    wanted = penalty(norm, graph, lambda1, lambda2)
    plain = elastic_state(x, graph, wanted, steps, implementation="reference")
    state = elastic_state(x, graph, wanted, steps, implementation="fused")
    signal = elastic_message_passing(x, graph, wanted, steps, implementation="fused")
    assert distance(plain.signal, state.signal) < 1e-12
    assert distance(plain.signal, signal) < 1e-12
    if lambda2 != float("inf"):  # the dual has no meaning there
        assert distance(plain.dual, state.dual) < 1e-9


@pytest.mark.parametrize("shape", SHAPES + POPULATIONS)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_fused_equals_reference_in_single_precision(shape, norm, weighted):
    graph = random_graph(60, 200, weighted=weighted)
    x = normal_rows(60, *shape, dtype=torch.float32)
    wanted = penalty(norm, graph, 0.4, 2.0)
    exact = elastic_message_passing(x.double(), graph, wanted, implementation="reference")
    signal = elastic_message_passing(x, graph, wanted, implementation="fused")
    assert signal.dtype == torch.float32
    assert distance(exact, signal.double()) < 1e-5


def test_each_run_of_a_population_is_the_single_run():
    graph = random_graph(50, 120)
    x = normal_rows(50, 5, 3)
    lambda1, lambda2 = torch.linspace(0, 1, 5).double(), torch.linspace(0, 4, 5).double()
    together = elastic_message_passing(x, graph, ElasticPenalty(lambda1, lambda2))
    for run in range(5):
        alone = ElasticPenalty(float(lambda1[run]), float(lambda2[run]))
        single = elastic_message_passing(x[:, run], graph, alone)
        assert distance(single, together[:, run]) < 1e-12


def test_a_warm_start_continues_where_the_steps_ended():
    graph = random_graph(40, 100, weighted=True)
    x = normal_rows(40, 1, 3)
    sizes = step_sizes(ElasticPenalty(0.5, 1.0), graph.norm_bound, x)
    half = fused.propagate_state(x, graph, sizes, L21(), 4)
    both = fused.continue_state(x, graph, sizes, L21(), 4, *half)
    whole = fused.propagate_state(x, graph, sizes, L21(), 8)
    assert distance(whole[0], both[0]) < 1e-12
    assert distance(whole[1], both[1]) < 1e-12


@pytest.mark.parametrize("shape", [(20,), (3, 4)], ids=["one run", "three runs"])
@pytest.mark.parametrize("norm", ["l21", "l1", "mcp"])
def test_bits_on_a_local_graph_do_not_depend_on_the_number_of_threads(several_threads, shape, norm):
    graph = grid_graph(60, 60)  # few edges end at another thread's node
    x = 2 * normal_rows(3600, *shape)
    penalty = ElasticPenalty(0.5, 1.5, norm, concavity=40.0 if norm == "mcp" else None)
    results = []
    for threads in several_threads:
        results.append(elastic_message_passing(x, graph, penalty, 8, implementation="fused"))
        assert native.last_threads() == threads
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    exact = elastic_message_passing(x, graph, penalty, 8, implementation="reference")
    assert distance(exact, results[1]) < 1e-12


def test_nan_in_one_component_stays_there():
    graph = Graph.from_edges([(0, 1), (2, 3)], num_nodes=4)
    x = normal_rows(4, 3)
    x[0, 1] = float("nan")
    signal = elastic_message_passing(x, graph, ElasticPenalty(0.5, 1.0), implementation="fused")
    assert torch.isnan(signal[:2]).any(1).all()
    assert torch.isfinite(signal[2:]).all()


def test_no_nodes_and_no_columns_pass_through():
    graph = random_graph(10, 20)
    x = torch.zeros(10, 0)
    assert elastic_message_passing(x, graph, ElasticPenalty(), implementation="fused").shape == (
        10,
        0,
    )
