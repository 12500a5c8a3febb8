"""What an attacker must leave intact, and how many flips a rate stands for."""

import numpy as np
import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import AttackBudget, Constraints, GradientSettings, attack
from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.perturbation import Perturbation
from elasticgnn.attack.simple import dice, random_flips
from elasticgnn.graph import Graph
from elasticgnn.nn import GCN


def path_graph(size: int) -> Graph:
    return Graph.from_edges([(i, i + 1) for i in range(size - 1)])


@pytest.mark.parametrize(("pair", "allowed"), [((0, 1), False), ((1, 2), True), ((2, 3), False)])
def test_removal_of_a_nodes_last_edge_is_refused(pair, allowed):
    state = Flippable(path_graph(4), Constraints())
    assert state.may_flip(*pair) is allowed
    assert Flippable(path_graph(4), Constraints(keep_last_edge=False)).may_flip(*pair)


def test_degrees_are_counted_as_flips_are_made():
    state = Flippable(path_graph(4), Constraints())
    state.flip_allowed([(1, 2), (0, 1), (0, 3), (2, 3)], upto=4)
    # 1 hangs on (0, 1) alone once (1, 2) is gone; 3 may lose (2, 3) to 2's last edge only
    assert state.flipped == [(1, 2), (0, 3)]
    assert state.degree.tolist() == [2, 1, 1, 2]


def test_edges_are_counted_as_flips_are_made():
    state = Flippable(path_graph(4), Constraints(keep_last_edge=False))
    state.flip_allowed([(1, 2), (0, 3), (1, 2)], upto=4)
    assert np.divmod(state.keys, 4)[0].tolist() == [0, 0, 2]
    assert np.divmod(state.keys, 4)[1].tolist() == [1, 3, 3]
    with pytest.raises(ValueError, match="pairs must be flipped once at most, got 1, 2 again"):
        state.flip(1, 2)


def star_task():
    """A planted task in which half of the nodes hang on one edge."""
    task = planted_task(num_nodes=60, seed=3)
    inner = (task.graph.tail < 30) & (task.graph.head < 30)
    kept = torch.stack((task.graph.tail[inner], task.graph.head[inner]))
    leaves = torch.stack((torch.arange(30), torch.arange(30, 60)))
    edges = torch.cat((kept, leaves), 1)
    return task.with_graph(Graph.from_edge_index(edges, 60, undirected=True))


def smallest_degree(graph: Graph) -> int:
    return int(torch.bincount(torch.cat((graph.tail, graph.head)), minlength=60).min())


@pytest.mark.parametrize("method", ["prbcd", "grbcd", "pgd", "dice", "random", "metattack"])
def test_no_attack_isolates_a_node(method):
    task = star_task()
    settings = None
    if method in ("prbcd", "grbcd", "pgd"):
        settings = GradientSettings(block_size=900, epochs=8, fresh_epochs=4, samples=4)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model = GCN(task.num_features, 8, task.num_classes)
    budget, split = AttackBudget(rate=0.6), planted_split(task)
    found = attack(task, split, budget, method, model, seeded(0), settings=settings)
    assert len(found) > 10
    assert smallest_degree(found.apply(task.graph)) >= 1


def test_dice_isolates_nodes_where_it_may():
    """The test above can fail: without the rule nodes do lose their last edge."""
    task, free = star_task(), Constraints(keep_last_edge=False)
    flips = dice(task, 60, free, seeded(0))
    assert smallest_degree(task.graph.with_edges_flipped(flips)) == 0


def test_random_flips_are_new_edges_only():
    task = star_task()
    flips = random_flips(task, 40, Constraints(), seeded(0))
    assert len(flips) == 40
    assert task.graph.with_edges_flipped(flips).num_edges == task.graph.num_edges + 40


@pytest.mark.parametrize(
    ("rate", "edges", "flips"),
    [
        (0.29, 100, 29),  # 0.29 * 100 is 28.999999999999996
        (0.15, 5000, 750),
        (0.25, 5069, 1267),  # 1267.25
        (0.05, 39, 1),  # 1.95: rounded down
        (0.05, 19, 0),
        (0.0, 100, 0),
    ],
)
def test_a_rate_is_rounded_down_to_flips_but_not_by_its_own_rounding(rate, edges, flips):
    graph = path_graph(edges + 1)
    assert AttackBudget(rate=rate).flips(graph) == flips
    pairs = torch.stack((torch.arange(edges), torch.arange(1, edges + 1)), dim=1)
    stored = Perturbation(pairs, graph.fingerprint, "random", seed=0)
    assert stored.count(graph, rate) == flips


@pytest.mark.parametrize(
    ("method", "targets", "message"),
    [
        ("dice", torch.tensor([3]), "targets must be given to .*prbcd.* only, got 'dice'"),
        ("prbcd", torch.zeros(60, dtype=torch.bool), r"must be \(k,\) int64.*got torch.bool"),
        ("prbcd", [3], r"must be \(k,\) int64.*got list"),
        ("prbcd", torch.tensor([-1]), "must be nodes in 0..59"),
        ("eva", torch.tensor([60]), "must be nodes in 0..59"),
        ("eva", torch.tensor([3, 3]), "must be different nodes"),
    ],
)
def test_targets_that_are_no_nodes_are_refused(method, targets, message):
    task = planted_task()
    with pytest.raises(ValueError, match=message):
        attack(
            task,
            planted_split(task),
            AttackBudget(edges=2),
            method,
            None,
            seeded(0),
            targets=targets,
        )
