"""Metattack against its plain dense definition, and the rules it must keep."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from attack.dense_metattack import dense_approximate_gradient, dense_meta_gradient
from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import AttackBudget, Constraints, MetattackSettings, metattack
from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.meta.candidates import best_flips
from elasticgnn.attack.meta.loop import draw_starts, next_gradient
from elasticgnn.attack.meta.surrogate import build_surrogate, draw_weights

OBJECTIVES = ("self", "train", "both")


def prepared(task, settings):
    state = Flippable(task.graph, settings.constraints)
    adjacency = state.adjacency(settings.dtype)
    surrogate = build_surrogate(task, planted_split(task), adjacency, settings, seeded(7))
    return state, surrogate


def dense_gradient(state, surrogate, first, second, compute=dense_meta_gradient):
    loss = surrogate.loss

    def value(logits):
        return -(loss.weight[:, None] * torch.log_softmax(logits, 1) * loss.target).sum()

    adjacency = torch.from_numpy(state.adjacency("float64").toarray())
    x = torch.from_numpy(surrogate.features.toarray())
    labelled = torch.from_numpy(surrogate.labelled)
    target = surrogate.target
    return compute(adjacency, x, labelled, target, value, surrogate.plan, first, second)


def assert_pairs_close(sparse, dense):
    size = len(dense)
    rows = torch.from_numpy(sparse.rows(0, size))
    upper = torch.triu(torch.ones(size, size), 1).bool()
    torch.testing.assert_close(rows[upper], dense[upper], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_meta_gradient_equals_dense_autograd(objective):
    settings = MetattackSettings(objective=objective, dtype="float64")
    state, surrogate = prepared(planted_task(), settings)
    sparse = next_gradient(state, surrogate, settings, draw_starts(surrogate, settings, seeded(1)))
    dense, value = dense_gradient(state, surrogate, *draw_weights(surrogate, seeded(1)))
    assert float(dense.abs().max()) > 1e-4
    assert sparse.loss == pytest.approx(value, abs=1e-10)
    assert_pairs_close(sparse, dense)


def test_approximate_gradient_equals_the_sum_of_direct_derivatives():
    settings = MetattackSettings(approximate=True, dtype="float64")
    state, surrogate = prepared(planted_task(), settings)
    sparse = next_gradient(state, surrogate, settings, draw_starts(surrogate, settings, seeded(1)))
    weights = draw_weights(surrogate, seeded(1))
    dense, _ = dense_gradient(state, surrogate, *weights, compute=dense_approximate_gradient)
    assert_pairs_close(sparse, dense)


def test_gradients_of_several_starts_add_up():
    settings = MetattackSettings(starts=2, dtype="float64")
    state, surrogate = prepared(planted_task(), settings)
    both = next_gradient(state, surrogate, settings, draw_starts(surrogate, settings, seeded(1)))
    generator = seeded(1)
    dense = sum(
        dense_gradient(state, surrogate, *draw_weights(surrogate, generator))[0] for _ in "ab"
    )
    assert_pairs_close(both, dense)


def dense_flips(task, settings, count):
    """Greedy flips by the dense gradient, with the last-edge rule and no pair twice."""
    state, surrogate = prepared(task, settings)
    generator = seeded(7)
    build_surrogate(  # draws what the attack draws before its first flip
        task, planted_split(task), state.adjacency("float64"), settings, generator
    )
    upper = torch.triu(torch.ones(task.num_nodes, task.num_nodes), 1).bool()
    for _ in range(count):
        dense, _ = dense_gradient(state, surrogate, *draw_weights(surrogate, generator))
        adjacency = torch.from_numpy(state.adjacency("float64").toarray())
        degree = adjacency.sum(1)
        last = (adjacency == 1) & ((degree[:, None] <= 1) | (degree <= 1))
        score = torch.where(upper & ~last, dense * (1 - 2 * adjacency), -torch.inf)
        for tail, head in state.flipped:
            score[tail, head] = -torch.inf
        tail, head = divmod(int(score.argmax()), task.num_nodes)
        state.flip(tail, head)
    return state.flipped


@pytest.mark.slow
def test_first_twenty_flips_equal_the_dense_attack():
    task = planted_task(num_nodes=240, num_classes=4, num_features=60, seed=3)
    settings = MetattackSettings(dtype="float64")
    found = metattack(task, planted_split(task), AttackBudget(edges=20), settings, seeded(7))
    assert [tuple(pair) for pair in found.pairs.tolist()] == dense_flips(task, settings, 20)


def test_both_precisions_choose_the_same_first_flips():
    task = planted_task(num_nodes=120)
    double, single = (
        metattack(
            task,
            planted_split(task),
            AttackBudget(edges=5),
            MetattackSettings(dtype=dtype),
            seeded(0),
        )
        for dtype in ("float64", "float32")
    )
    assert double.pairs.tolist() == single.pairs.tolist()


def test_attack_raises_its_own_loss():
    task = planted_task(num_nodes=120)
    split = planted_split(task)
    found = metattack(task, split, AttackBudget(rate=0.15), MetattackSettings(), seeded(0))
    assert len(found) == int(0.15 * task.graph.num_edges) == len(found.loss)
    assert found.loss[-1] > 1.3 * found.loss[0]


def test_several_flips_per_gradient_begin_with_the_best_one():
    task = planted_task()
    split = planted_split(task)
    one, many = (
        metattack(
            task, split, AttackBudget(edges=5), MetattackSettings(flips_per_step=k), seeded(0)
        )
        for k in (1, 5)
    )
    assert many.pairs[0].tolist() == one.pairs[0].tolist()
    assert len({tuple(pair) for pair in many.pairs.tolist()}) == 5


@pytest.mark.parametrize("keep", [True, False])
def test_last_edges_are_candidates_only_when_allowed(keep):
    task = planted_task(num_nodes=40, seed=2)
    settings = MetattackSettings(constraints=Constraints(keep_last_edge=keep))
    state, surrogate = prepared(task, settings)
    lone = 1 + int(task.graph.degree[1:].argmin())
    for tail, head in zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True):
        if lone in (tail, head) and state.degree[lone] > 1:
            state.flip(tail, head)
    gradient = next_gradient(
        state, surrogate, settings, draw_starts(surrogate, settings, seeded(1))
    )
    found = best_flips(gradient, state, 40 * 40)
    removals = found.pairs[np.isin(state.key(*found.pairs.T), state.keys)]
    assert bool((removals == lone).any()) is not keep
    assert len(removals) > 20
    assert not {tuple(pair) for pair in found.pairs.tolist()} & set(state.flipped)


@pytest.mark.parametrize("height", [1, 7, 40])
def test_every_pair_is_a_candidate_once_in_blocks_of_any_height(height, monkeypatch):
    task = planted_task(num_nodes=40)
    settings = MetattackSettings(constraints=Constraints(keep_last_edge=False))
    state, surrogate = prepared(task, settings)
    starts = draw_starts(surrogate, settings, seeded(1))
    gradient = next_gradient(state, surrogate, settings, starts)
    monkeypatch.setattr("elasticgnn.attack.meta.candidates.BLOCK_ENTRIES", height * 40)
    found = best_flips(gradient, state, 40 * 40)
    every = {(tail, head) for tail in range(40) for head in range(tail + 1, 40)}
    assert len(found.pairs) == len(every)
    assert {tuple(pair) for pair in found.pairs.tolist()} == every
    assert (np.diff(found.score) <= 0).all()


def test_degree_test_limits_the_attack():
    task = planted_task(num_nodes=60)
    settings = MetattackSettings(constraints=Constraints(degree_test=1e-4), flips_per_step=2)
    found = metattack(task, planted_split(task), AttackBudget(rate=0.5), settings, seeded(0))
    free = metattack(
        task,
        planted_split(task),
        AttackBudget(rate=0.5),
        MetattackSettings(flips_per_step=2),
        seeded(0),
    )
    assert found.pairs.tolist() != free.pairs.tolist()


def test_same_seed_gives_the_same_flips():
    task = planted_task()
    budget, settings = AttackBudget(edges=4), MetattackSettings()
    one, two = (metattack(task, planted_split(task), budget, settings, seeded(5)) for _ in "ab")
    assert one.pairs.tolist() == two.pairs.tolist()
    assert one.loss == two.loss


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "other"}, "objective must be one of"),
        ({"features": "x"}, "features must be one of"),
        ({"dtype": "half"}, "dtype must be one of"),
        ({"flips_per_step": 0}, "flips_per_step must be >= 1"),
        ({"starts": 0}, "starts must be >= 1"),
        ({"loss": "x"}, "loss must be one of"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MetattackSettings(**settings)


def test_weighted_graph_is_refused():
    task = planted_task()
    graph = task.graph.with_weight(2 * task.graph.weight)
    with pytest.raises(ValueError, match="graph must be unweighted"):
        Flippable(graph, Constraints())


def test_attack_goes_on_from_earlier_flips():
    task, settings = planted_task(), MetattackSettings()
    split = planted_split(task)
    begun = metattack(task, split, AttackBudget(edges=3), settings, seeded(0))
    longer = metattack(task, split, AttackBudget(edges=8), settings, seeded(1), after=begun)
    assert longer.pairs[:3].tolist() == begun.pairs.tolist()
    assert len(set(map(tuple, longer.pairs.tolist()))) == 8
    assert longer.loss[:3] == begun.loss
    other = planted_task(seed=1)
    with pytest.raises(ValueError, match="graph must be the one that was attacked"):
        metattack(other, split, AttackBudget(edges=8), settings, seeded(1), after=begun)


def test_weights_are_drawn_once_when_not_redrawn():
    task = planted_task()

    def flips(redraw):
        settings = MetattackSettings(redraw=redraw, dtype="float64")
        return metattack(task, planted_split(task), AttackBudget(edges=6), settings, seeded(3))

    kept, redrawn = flips(False), flips(True)
    assert kept.pairs[0].tolist() == redrawn.pairs[0].tolist()
    assert kept.loss[0] == redrawn.loss[0]
    assert kept.loss[1:] != redrawn.loss[1:]
    # from one start the loss follows the graph alone: it rises, without the jumps of new weights
    assert all(later > earlier for earlier, later in pairwise(kept.loss))
