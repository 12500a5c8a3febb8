"""EvA's local search: many pairs on one graph, and two pairs merged into one."""

import numpy as np
import pytest
import torch

from attack.small_task import planted_task
from elasticgnn.attack import EvolutionSettings
from elasticgnn.attack.evolution import AttackProblem, Evolution
from elasticgnn.attack.exchange import exchange, held_by, try_pairs
from elasticgnn.attack.merging import disjoint_rows, matchings, merged, single_pairs
from elasticgnn.attack.together import added, beside, group_size, left_out, promising
from elasticgnn.operator.flipped import FlipLists


@pytest.fixture(scope="module")
def task():
    return planted_task(num_nodes=60, seed=1)


def falls_in_twos(flips: FlipLists) -> torch.Tensor:
    """Labels of 60 nodes: pair (2k, 2k + 1) makes both its ends wrong, (0, j) only j."""
    labels = (torch.arange(60) % 3).repeat(len(flips), 1)
    for number in range(len(flips)):
        for one, other in flips[number].tolist():
            twins = one % 2 == 0 and other == one + 1
            hit = [one, other] if twins else [other] * (one == 0)
            labels[number, hit] = 3
    return labels.byte()


def test_rounds_of_local_search_alone_find_the_pairs_that_hit_two_nodes(task):
    problem = AttackProblem(task.graph, torch.arange(60), task.labels, falls_in_twos)
    settings = EvolutionSettings(population=1, generations=1, screened=900)
    search = Evolution(problem, 8, settings, np.random.default_rng(0))
    now = search.evaluate(60 * np.arange(20, 28)[None] + 50)  # pairs that hit nothing
    assert now.num_correct.tolist() == [60]
    for _ in range(5):
        now = search.improve(now)
    assert now.num_correct.tolist() == [60 - 2 * 8]


def searching(task, flips, predict=falls_in_twos, **options):
    problem = AttackProblem(task.graph, torch.arange(60), task.labels, predict)
    settings = EvolutionSettings(population=1, generations=1, **options)
    return Evolution(problem, flips, settings, np.random.default_rng(0))


def test_so_many_pairs_share_a_graph_as_leave_each_some_room():
    assert group_size(16, 2000) == 16
    assert group_size(16, 100) == 3
    assert group_size(16, 20) == 1
    assert group_size(1, 2000) == 1
    with pytest.raises(ValueError, match="together must be >= 1"):
        EvolutionSettings(together=0)


def test_pairs_that_hit_something_are_told_from_those_on_the_same_graph(task):
    search = searching(task, 1)
    best = search.evaluate(np.array([[20 * 60 + 50]]))  # hits nothing
    twins = np.array([60 * one + one + 1 for one in range(2, 50, 2)])
    # at nodes of their own, so that nobody else's fall is put down to them
    idle = np.array([60 * one + one + 1 for one in range(51, 59, 2)])
    found = promising(search, best, np.concatenate((twins, idle)), 4, 60)
    assert set(found) <= set(twins)
    assert len(found) >= len(twins) - 3  # but for those that filled no graph
    assert len(promising(search, best, twins, 4, 5)) == 5
    assert len(promising(search, best, twins[:3], 4, 5)) == 0


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_pairs_on_shared_graphs_are_worth_what_they_are_alone(task, size):
    search = searching(task, 1)
    best = search.evaluate(np.array([[20 * 60 + 50]]))
    keys = np.array([4, 60 * 6 + 7, 60 * 8 + 9, 60 * 10 + 12, 14])  # 10 and 12 stay as they are
    worth, hits = added(search, best, keys, size)
    assert worth.tolist() == [1, 2, 2, 0, 1]  # no pair twice, also where it filled the last graph
    assert [np.flatnonzero(row).tolist() for row in hits] == [[4], [6, 7], [8, 9], [], [14]]


@pytest.mark.parametrize("size", [2, 3, 5, 6])
def test_pairs_left_out_together_hold_what_they_hold_alone(task, size):
    search = searching(task, 6)
    best = search.evaluate(np.array([[4, 5, 8, 9, 12 * 60 + 13, 20 * 60 + 50]]))
    held, worth = left_out(search, best, size)
    alone, each = held_by(search, best)
    assert np.array_equal(held, alone)
    assert np.array_equal(worth, each)


def test_who_turns_correct_counts_against_a_pair(task):
    def predict(flips):
        labels = (torch.arange(60) % 3).repeat(len(flips), 1)
        labels[:, 30] = 3
        for number in range(len(flips)):
            if [2, 30] in flips[number].tolist():
                labels[number, [2, 30]] = torch.tensor([3, 0])  # 2 falls, 30 becomes correct
        return labels.byte()

    search = searching(task, 1, predict)
    best = search.evaluate(np.array([[20 * 60 + 50]]))
    worth, hits = added(search, best, np.array([2 * 60 + 30, 40 * 60 + 50]), 2)
    assert worth.tolist() == [0, 0]
    assert np.flatnonzero(hits[0]).tolist() == [2]


def falls_beside(task):
    """Pair (0, j) makes the neighbours of j wrong, not j itself."""
    pairs = torch.stack((task.graph.tail, task.graph.head), 1).tolist()

    def predict(flips: FlipLists) -> torch.Tensor:
        labels = (torch.arange(60) % 3).repeat(len(flips), 1)
        for number in range(len(flips)):
            for one, other in flips[number].tolist():
                if one == 0:
                    near = [a + b - other for a, b in pairs if other in (a, b)]
                    labels[number, near] = 3
        return labels.byte()

    return predict


def test_nodes_that_fall_beside_an_end_are_put_down_to_its_pair(task):
    search = searching(task, 1, falls_beside(task))
    best = search.evaluate(np.array([[20 * 60 + 50]]))
    pairs = [divmod(int(key), 60) for key in search.edges]
    near = {a + b - 7 for a, b in pairs if 7 in (a, b)}
    nearer = near | {node for pair in pairs if near & set(pair) for node in pair} | {0, 7}
    one, other, *_ = (node for node in range(60) if node not in nearer)
    keys = np.array([7, 60 * one + other])  # the first hits the neighbours of 7, the second nobody
    assert promising(search, best, keys, 2, 5).tolist() == [7]


def test_neighbours_are_those_of_the_flipped_graph(task):
    search = searching(task, 2)
    flipped = np.array([search.edges[0], 58 * 60 + 59])
    pairs = torch.from_numpy(np.stack(np.divmod(flipped, 60), 1))
    graph = task.graph.with_edges_flipped(pairs)
    expected = set()
    for group, node in ((4, 0), (9, 59), (9, int(search.edges[0] // 60))):
        for a, b in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
            expected |= {(group, a + b - node)} if node in (a, b) else set()
    nodes = np.array([0, 59, search.edges[0] // 60])
    group, near, change = beside(search, flipped, np.array([4, 9, 9]), nodes, np.arange(3))
    assert set(zip(group.tolist(), near.tolist(), strict=True)) == expected
    assert np.array_equal(group, np.array([4, 9, 9])[change])


@pytest.mark.parametrize("count", [0, 2, 4, 10])
def test_every_two_meet_once(count):
    met = matchings(count)
    assert met.shape == (max(count - 1, 0), count // 2, 2)
    assert all(sorted(graph.ravel()) == list(range(count)) for graph in met)
    assert len({frozenset(pair) for pair in met.reshape(-1, 2).tolist()}) == count * (count - 1) / 2


def test_chosen_rows_share_no_number_and_those_with_one_choice_come_first():
    pairs = np.array([[0, 1], [1, 2], [2, 3], [1, 3]])
    for seed in range(8):
        chosen = pairs[disjoint_rows(pairs, np.random.default_rng(seed))].tolist()
        assert [0, 1] in chosen
        assert len({number for pair in chosen for number in pair}) == 2 * len(chosen) == 4


def test_two_pairs_become_one_between_the_nodes_they_hold(task):
    search = searching(task, 6)
    # 4, 5, 8 and 9 are held by a pair each, 12 and 13 by one together
    best = search.evaluate(np.array([[4, 5, 8, 9, 12 * 60 + 13, 20 * 60 + 50]]))
    held, worth = held_by(search, best)
    single, place = single_pairs(search, held, worth)
    assert sorted(single) == [0, 1, 2, 3]
    assert (search.nodes[place] == best.keys[0, single]).all()
    found = merged(search, best, single, place)
    assert sorted(found.keys) == [4 * 60 + 5, 8 * 60 + 9]
    assert sorted(found.places.ravel()) == [0, 1, 2, 3]
    assert sorted(found.made(best.keys[0], 2)) == [245, 489, 12 * 60 + 13, 20 * 60 + 50]


def test_an_edge_and_a_pair_that_is_there_are_not_merged_into(task):
    search = searching(task, 5)
    best = search.evaluate(np.array([[4, 5, 8, 9, 4 * 60 + 5]]))
    everyone = np.arange(4), np.array([4, 5, 8, 9])
    assert merged(search, best, *everyone).keys.tolist() == [8 * 60 + 9]
    search.edges = np.sort(np.append(search.edges, 8 * 60 + 9))
    assert len(merged(search, best, *everyone)) == 0


def test_a_node_that_two_pairs_bring_down_together_spares_neither():
    held = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]], bool)
    search = type("Search", (), {"random": np.random.default_rng(0)})
    single, place = single_pairs(search, held, held.sum(1))
    assert (single.tolist(), place.tolist()) == ([2], [1])


def test_merging_finds_what_exchanges_of_single_pairs_do_not(task):
    left = {}
    for together in (1, 16):
        search = searching(task, 4, screened=40, together=together)
        best = search.evaluate(np.array([[4, 5, 8, 9]]))
        search.draw = lambda alive, count, archived=0.0: 60 * np.arange(3) + 50  # (0, 50) hits one
        left[together] = exchange(search, best, 40).num_correct.min()
    assert left == {1: 60 - 4, 16: 60 - 5}  # a pair is set free, and takes 50


def test_pairs_tried_after_sharing_a_graph_are_measured_alone(task):
    search = searching(task, 1, together=1)
    best = search.evaluate(np.array([[20 * 60 + 50]]))
    search.settings = EvolutionSettings(population=1, generations=1, together=2)
    assert group_size(2, int(best.num_correct[0])) == 1  # 60 nodes have room for one
    tried = try_pairs(search, best, 100)
    keys = np.concatenate((np.repeat(best.keys, len(tried.keys), 0), tried.keys[:, None]), 1)
    assert (tried.gain == best.num_correct[0] - search.evaluate(keys).num_correct).all()
