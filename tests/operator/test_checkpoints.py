"""What the forward pass saves for the gradient: counted by hand."""

import pytest
import torch

from elasticgnn import ElasticPenalty
from elasticgnn.operator import checkpoints, fused_op
from elasticgnn.operator.checkpoints import lean_rows, plan_checkpoints
from elasticgnn.operator.fused_loops import Arguments
from elasticgnn.operator.request import Options, make_request
from strategies import normal_rows, random_graph


@pytest.mark.parametrize(
    ("every", "steps", "ratio", "rows"),
    [
        (2, 10, 3.0, 4 * (1 + 3.0) + 2 + 3.0),  # four checkpoints, two replayed steps, a dual
        (5, 10, 3.0, 1 * (1 + 3.0) + 5 + 3.0),
        (10, 10, 3.0, 10),  # everything is replayed from the input, whose dual is zero
    ],
)
def test_lean_memory_is_checkpoints_and_one_replay(every, steps, ratio, rows):
    assert checkpoints._lean_cost(every, steps, ratio) == rows


def test_lean_mode_takes_the_interval_that_needs_least():
    for steps in (1, 2, 7, 10, 40):
        costs = [checkpoints._lean_cost(every, steps, 2.0) for every in range(1, 11)]
        assert lean_rows(steps, 2.0) == min(costs[:steps]) + 1


def arguments(x, graph):
    """The arguments of the fused loops with gradients of x."""
    slots, one = graph._slots, torch.ones(x.shape[1])
    tables = (*graph._cast(x.dtype), slots.start, slots.column, slots.edge)
    return Arguments(x, *tables, one, one, one, one, "l21", 0.0, 6, "x", "fast", True)


def test_every_dual_of_many_runs_is_saved_while_all_states_fit(monkeypatch):
    graph, x = random_graph(20, 40), normal_rows(20, 3, 5)
    state = (20 + graph.num_edges) * 3 * 5 * 8  # bytes of one step
    monkeypatch.setattr(checkpoints, "SAVED_BYTES", 6 * state)
    assert arguments(x, graph).checkpoints("x").every == 1
    monkeypatch.setattr(checkpoints, "SAVED_BYTES", 6 * state - 1)
    assert arguments(x, graph).checkpoints("x").every == checkpoints.FAST_EVERY
    assert arguments(x[:, :1], graph).checkpoints("x").every == checkpoints.FAST_EVERY


def test_one_run_saves_every_fourth_dual():
    assert plan_checkpoints(9, "x", False, True) == (4, True, 9, 2)
    assert plan_checkpoints(9, "all", False, True) == (4, True, 27, 2)


def test_no_run_has_a_dual_where_lambda2_is_infinite():
    graph, x = random_graph(20, 40), normal_rows(20, 3)

    def has_dual(*strengths):
        return make_request(x, graph, ElasticPenalty(*strengths), 5, Options()).has_dual

    assert has_dual(0.4, 1.5)
    assert not has_dual(0.4, float("inf"))
    assert not has_dual(0.0, 1.5)


def test_the_signal_decides_whether_a_call_is_watched(monkeypatch):
    graph, asked = random_graph(20, 40), []
    monkeypatch.setattr(fused_op, "is_unwatched", lambda x: asked.append(x) or True)
    given = arguments(normal_rows(20, 1, 3), graph)._replace(gradients="none")
    fused_op.propagate(*given)
    assert asked[0] is given.x
