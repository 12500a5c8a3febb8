"""The fused operator inside torch: registration, compile, func, autocast, threads, memory."""

import threading
from pathlib import Path

import pytest
import torch

from elasticgnn import ElasticPenalty, elastic_message_passing
from elasticgnn.kernels import native
from elasticgnn.operator.checkpoints import plan_checkpoints
from elasticgnn.problem.step_sizes import step_sizes
from marks import needs_kernels
from strategies import normal_rows, random_graph

pytestmark = needs_kernels

PENALTY = ElasticPenalty(0.4, 1.5)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("memory", ["fast", "lean"])
@pytest.mark.parametrize("gradients", ["x", "all"])
def test_the_operator_passes_opcheck(runs, memory, gradients):
    graph = random_graph(12, 20, weighted=True)
    x = normal_rows(12, runs, 2).requires_grad_()
    weight, scale = (
        t.clone().requires_grad_(gradients == "all") for t in graph.cast(torch.float64)
    )
    sizes = [
        t.clone().requires_grad_(gradients == "all") for t in step_sizes(PENALTY, 2.0, x, runs)
    ]
    slots = graph._slots
    options = ("l21", 0.0, 5, gradients, memory, True)
    torch.library.opcheck(
        torch.ops.elasticgnn.propagate.default,
        (x, weight, scale, slots.start, slots.column, slots.edge, *sizes, *options),
    )


def test_compiled_without_graph_breaks_it_gives_the_same_value_and_gradient():
    graph = random_graph(20, 40)

    def run(x):
        return 2 * elastic_message_passing(x, graph, PENALTY, 5)

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    x = normal_rows(20, 3).requires_grad_()
    value = compiled(x)  # before any other use of the graph, whose tables torch cannot trace
    torch.testing.assert_close(value, run(x), rtol=1e-13, atol=1e-13)  # by other loops
    torch.testing.assert_close(
        torch.autograd.grad(compiled(x).square().sum(), x)[0],
        torch.autograd.grad(run(x).square().sum(), x)[0],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_func_grad_is_the_gradient_and_leaves_the_graph_usable(dtype):
    graph = random_graph(20, 40)

    def loss(x):
        return elastic_message_passing(x, graph, PENALTY, 5).square().sum()

    x = normal_rows(20, 3).to(dtype)
    y = x.clone().requires_grad_()
    inside = torch.func.grad(loss)(x)
    assert torch.allclose(inside, torch.autograd.grad(loss(y), y)[0], rtol=1e-5)


def test_a_compiled_function_knows_its_graphs_apart():
    def run(x, graph):
        return elastic_message_passing(x, graph, PENALTY, 5)

    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    x = normal_rows(20, 3)
    graphs = [random_graph(20, 40, seed=seed) for seed in (0, 1)]
    first, second = (compiled(x, graph) for graph in graphs)
    assert not torch.equal(first, second)
    torch.testing.assert_close(second, run(x, graphs[1]), rtol=1e-13, atol=1e-13)


def test_autocast_runs_it_in_single_precision():
    graph = random_graph(20, 40)
    linear = torch.nn.Linear(3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = elastic_message_passing(linear(torch.randn(20, 3)), graph, PENALTY, 5)
    assert out.dtype == torch.float32
    out.sum().backward()
    assert linear.weight.grad is not None


@pytest.mark.parametrize("shape", [(1, 7), (1, 40), (16, 7)])
@pytest.mark.parametrize("memory", ["fast", "lean"])
def test_same_bits_for_any_number_of_threads(shape, memory, several_threads):
    graph = random_graph(4000, 20000, weighted=True)
    x = normal_rows(4000, *shape, dtype=torch.float32)
    weight = graph.weight.float()
    results = []
    for threads in several_threads:
        inputs = [x.clone().requires_grad_(), weight.clone().requires_grad_()]
        lambda1 = torch.tensor(0.4, requires_grad=True)
        out = elastic_message_passing(
            inputs[0],
            graph,
            ElasticPenalty(lambda1, 2.0),
            edge_weight=inputs[1],
            memory=memory,
        )
        results.append([out, *torch.autograd.grad(out.square().sum(), [*inputs, lambda1])])
        assert native.last_threads() == threads
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_two_python_threads_at_once_get_their_own_results():
    graph = random_graph(2000, 8000)
    inputs = [normal_rows(2000, 5, seed=seed) for seed in range(2)]
    expected = [elastic_message_passing(x, graph, PENALTY) for x in inputs]
    wrong = []

    def work(which):
        for _ in range(20):
            out = elastic_message_passing(inputs[which], graph, PENALTY)
            if not torch.equal(out, expected[which]):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ten_thousand_calls_do_not_leak():
    graph = random_graph(300, 900)
    x = normal_rows(300, 1, 7, dtype=torch.float32)
    y = x.clone().requires_grad_()

    def calls(count):
        for _ in range(count):
            elastic_message_passing(x, graph, PENALTY, 2)
        for _ in range(count // 4):
            torch.autograd.grad(elastic_message_passing(y, graph, PENALTY, 2).sum(), y)

    calls(1000)
    before = resident_bytes()
    calls(8000)
    assert resident_bytes() - before < 8 * 2**20  # one leaked signal a call would be 67 MB


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_peak_memory_of_lean_mode_is_below_that_of_fast_mode():
    fast = plan_checkpoints(100, "x", False, True)
    lean = plan_checkpoints(100, "x", True, True)
    assert lean.num_nodes < fast.num_nodes
    assert lean.num_duals < fast.num_duals


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", ["l21", "l1"])
def test_what_inference_mode_made_serves_training_too(dtype, norm):
    graph, penalty = random_graph(20, 40, weighted=True), ElasticPenalty(1.25, 2.5, norm)
    x = normal_rows(20, 5).to(dtype)
    with torch.inference_mode():
        before = elastic_message_passing(x, graph, penalty, 3)
    rows = x.clone().requires_grad_()
    after = elastic_message_passing(rows, graph, penalty, 3)
    after.sum().backward()
    torch.testing.assert_close(before, after.detach())  # perhaps by other loops
    weight = graph.weight.clone().requires_grad_()
    elastic_message_passing(x, graph, penalty, 3, edge_weight=weight).sum().backward()
    assert float(weight.grad.abs().max()) > 0
