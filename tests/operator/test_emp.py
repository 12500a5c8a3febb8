"""Elastic message passing, every implementation: laws, gradients, bad input."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.nn import APPNP

from elasticgnn import ElasticPenalty, Graph, elastic_message_passing
from elasticgnn.operator import elastic_state
from elasticgnn.problem import PENALTIES
from elasticgnn.problem.penalties.registry import CONVEX_NORMS
from marks import needs_kernels
from strategies import graphs, normal_rows, random_graph

both = pytest.mark.parametrize(
    "implementation",
    [
        "reference",
        pytest.param("fused", marks=needs_kernels),
    ],
)
NORMS = (*PENALTIES,)


def literal_figure_1(x, graph, lambda1, lambda2, steps):
    """The paper's Figure 1 with dense matrices, l21, nothing clever."""
    n, m = graph.num_nodes, graph.num_edges
    incidence = torch.zeros(m, n, dtype=torch.float64)
    incidence[torch.arange(m), graph.tail] = -1.0
    incidence[torch.arange(m), graph.head] = 1.0
    adjacency = torch.from_numpy(graph.to_scipy().toarray()) + torch.eye(n, dtype=torch.float64)
    root = adjacency.sum(1).rsqrt().diag()
    incidence, adjacency = incidence @ root, root @ adjacency @ root
    gamma = 1 / (1 + lambda2)
    beta = 1 / (2 * gamma)
    f, z = x, torch.zeros(m, x.shape[1], dtype=torch.float64)
    for _ in range(steps):
        y = gamma * x + (1 - gamma) * adjacency @ f
        z_bar = z + beta * incidence @ (y - gamma * incidence.T @ z)
        length = z_bar.norm(dim=1, keepdim=True)
        z = z_bar / length * length.clamp(max=lambda1)
        f = y - gamma * incidence.T @ z
    return f


@both
def test_result_is_the_figure_of_the_paper(implementation):
    graph = random_graph(25, 60)
    x = normal_rows(25, 4)
    ours = elastic_message_passing(
        x, graph, ElasticPenalty(0.4, 2.0), 10, implementation=implementation
    )
    torch.testing.assert_close(ours, literal_figure_1(x, graph, 0.4, 2.0, 10))


@both
@pytest.mark.parametrize("lambda2", [0.5, 3.0, 9.0])
def test_without_lambda1_it_is_appnp(implementation, lambda2):
    graph = random_graph(40, 90, weighted=True)
    x = normal_rows(40, 3, dtype=torch.float32)
    index, weight = graph.to_edge_index()
    expected = APPNP(7, 1 / (1 + lambda2))(x, index, weight.float())
    ours = elastic_message_passing(
        x, graph, ElasticPenalty(0.0, lambda2), 7, implementation=implementation
    )
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-6)


@both
def test_infinite_lambda2_is_plain_aggregation(implementation):
    graph = random_graph(15, 30, weighted=True)
    x = normal_rows(15, 2)
    ours = elastic_message_passing(
        x, graph, ElasticPenalty(3.0, float("inf")), 2, implementation=implementation
    )
    torch.testing.assert_close(ours, graph.smooth(graph.smooth(x)))


@both
@given(graph=graphs(), lambda1=st.sampled_from([0.0, 0.1, 2.0]), seed=st.integers(0, 9))
def test_one_channel_makes_both_norms_equal(implementation, graph, lambda1, seed):
    x = normal_rows(graph.num_nodes, 1, seed=seed)
    l1, l21 = (
        elastic_message_passing(
            x, graph, ElasticPenalty(lambda1, 1.0, norm), 5, implementation=implementation
        )
        for norm in CONVEX_NORMS
    )
    torch.testing.assert_close(l1, l21, rtol=1e-9, atol=1e-9)


@both
@given(graph=graphs(), norm=st.sampled_from(NORMS), seed=st.integers(0, 9))
def test_permuting_nodes_permutes_the_result(implementation, graph, norm, seed):
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    penalty = ElasticPenalty(0.2, 1.0, norm, None if norm in CONVEX_NORMS else 1e7)
    x = normal_rows(graph.num_nodes, 3, seed=seed)
    run = {"steps": 4, "implementation": implementation}
    whole = elastic_message_passing(x, graph, penalty, **run)
    permuted = elastic_message_passing(x[order], graph.permute(order), penalty, **run)
    torch.testing.assert_close(permuted, whole[order], rtol=1e-9, atol=1e-9)


@both
def test_an_edge_of_weight_two_is_two_parallel_edges(implementation):
    rows = [(0, 1), (1, 2), (1, 2), (2, 3)]
    doubled = Graph.from_edges(rows)
    weighted = Graph.from_edges([(0, 1, 1.0), (1, 2, 2.0), (2, 3, 1.0)])
    x = normal_rows(4, 2)
    a, b = (
        elastic_message_passing(x, g, ElasticPenalty(), implementation=implementation)
        for g in (doubled, weighted)
    )
    torch.testing.assert_close(a, b)


@both
def test_zero_steps_and_graphs_without_edges_return_what_they_must(implementation):
    x = normal_rows(3, 2)
    alone = Graph.from_edges([], num_nodes=3)
    run = {"implementation": implementation}
    assert torch.equal(elastic_message_passing(x, alone, ElasticPenalty(), 0, **run), x)
    torch.testing.assert_close(elastic_message_passing(x, alone, ElasticPenalty(), 8, **run), x)


@both
@pytest.mark.parametrize("norm", NORMS)
def test_population_equals_its_runs_one_by_one(implementation, norm):
    graph = random_graph(20, 50, weighted=True)
    x = normal_rows(20, 3, 4)
    lambda1 = torch.tensor([0.0, 0.3, 2.0], dtype=torch.float64)
    lambda2 = torch.tensor([3.0, 1.0, float("inf")], dtype=torch.float64)
    whole = elastic_message_passing(
        x, graph, ElasticPenalty(lambda1, lambda2, norm), 6, implementation=implementation
    )
    for r in range(3):
        single = elastic_message_passing(
            x[:, r],
            graph,
            ElasticPenalty(float(lambda1[r]), float(lambda2[r]), norm),
            6,
            implementation=implementation,
        )
        torch.testing.assert_close(whole[:, r], single, rtol=1e-12, atol=1e-12)


@both
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("normalization", ["degree", "none"])
def test_every_gradient_agrees_with_finite_differences(implementation, norm, normalization):
    graph = random_graph(7, 12, weighted=True, normalization=normalization, seed=3)
    bound = graph.norm_bound  # fixed: the step size must not move with the weights

    def run(x, weight, lambda1, lambda2):
        sizes = {"gamma": 0.9 / (1 + 1.0 * bound), "beta": 1.0 / bound}
        concavity = None if norm in CONVEX_NORMS else 4 * bound
        penalty = ElasticPenalty(lambda1, lambda2, norm, concavity)
        return elastic_message_passing(
            x, graph, penalty, 4, edge_weight=weight, implementation=implementation, **sizes
        )

    inputs = (
        normal_rows(7, 3),
        graph.weight.clone(),
        torch.tensor(0.3, dtype=torch.float64),
        torch.tensor(0.8, dtype=torch.float64),
    )
    inputs = tuple(tensor.requires_grad_() for tensor in inputs)
    assert torch.autograd.gradcheck(run, inputs)


@both
@pytest.mark.parametrize("norm", ["l1", "l21"])
def test_gradient_of_the_papers_step_sizes_agrees_with_finite_differences(implementation, norm):
    graph = random_graph(7, 12, weighted=True, seed=5)

    def run(x, weight, lambda1, lambda2):
        penalty = ElasticPenalty(lambda1, lambda2, norm)
        return elastic_message_passing(
            x, graph, penalty, 5, edge_weight=weight, implementation=implementation
        )

    inputs = (
        normal_rows(7, 2, 3),
        graph.weight.clone(),
        torch.tensor([0.3, 0.5], dtype=torch.float64),
        torch.tensor([0.8, 2.0], dtype=torch.float64),
    )
    assert torch.autograd.gradcheck(run, tuple(t.requires_grad_() for t in inputs))


@both
def test_gradient_is_finite_for_edges_of_weight_zero(implementation):
    graph = random_graph(8, 14)
    weight = torch.zeros(graph.num_edges, dtype=torch.float64, requires_grad=True)
    out = elastic_message_passing(
        normal_rows(8, 2),
        graph,
        ElasticPenalty(),
        edge_weight=weight,
        implementation=implementation,
    )
    out.square().sum().backward()
    assert bool(torch.isfinite(weight.grad).all())
    assert float(weight.grad.abs().max()) > 0


@both
def test_state_gives_the_same_signal_and_its_dual_lies_in_the_ball(implementation):
    graph = random_graph(30, 80, weighted=True)
    x = normal_rows(30, 3)
    penalty = ElasticPenalty(0.2, 1.0)
    state = elastic_state(x, graph, penalty, 9, implementation=implementation)
    signal = elastic_message_passing(x, graph, penalty, 9, implementation=implementation)
    torch.testing.assert_close(state.signal, signal)
    assert float(state.dual.norm(dim=1).max()) <= 0.2 * (1 + 1e-12)
    reference = elastic_state(x, graph, penalty, 9, implementation="reference")
    torch.testing.assert_close(state.dual, reference.dual)


GRAPH = random_graph(5, 8)
ROWS = normal_rows(5, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(x=ROWS[:4]), r"x must be \(5, d\)"),
        (dict(x=ROWS[0]), r"x must be \(5, d\)"),
        (dict(x=[1.0]), r"x must be \(5, d\) .* got list"),
        (dict(x=ROWS.int()), "x must hold floating point numbers, got torch.int32"),
        (dict(steps=-1), "steps must be an integer >= 0, got -1"),
        (dict(steps=2.5), "steps must be an integer >= 0, got 2.5"),
        (dict(memory="none"), "memory must be one of"),
        (dict(implementation="cuda"), "implementation must be one of"),
        (dict(gamma=0.3), r"gamma must lie in \(0, 0.285714\)"),
        (dict(gamma=0.0), r"gamma must lie in \(0, 0.285714\)"),
        (dict(beta=2.7), r"beta must lie in \(0, 2.66667\]"),
        (dict(edge_weight=torch.ones(3)), "weight must have shape"),
        (dict(penalty=ElasticPenalty(torch.ones(2), 1.0)), "lambda1 must have one entry or one"),
        (dict(penalty=ElasticPenalty(1.0, 0.0, "mcp", 1.5)), "concavity must be > 2 "),
        (dict(penalty=ElasticPenalty(1.0, 0.0, "scad", 2.5)), "concavity must be > 3 "),
    ],
)
def test_bad_argument_is_refused_by_message(arguments, message):
    call = {"x": ROWS, "graph": GRAPH, "penalty": ElasticPenalty()} | arguments
    with pytest.raises(ValueError, match=message):
        elastic_message_passing(**call)


def test_a_dual_step_on_its_bound_is_accepted_up_to_rounding():
    limit = 4 / (3 * 0.25 * 2)  # gamma = 1 / (1 + lambda2) with lambda2 = 3
    elastic_message_passing(ROWS, GRAPH, ElasticPenalty(lambda2=3.0), beta=limit * (1 + 5e-13))
    with pytest.raises(ValueError, match="beta must lie in"):
        elastic_message_passing(ROWS, GRAPH, ElasticPenalty(lambda2=3.0), beta=limit * (1 + 1e-9))
