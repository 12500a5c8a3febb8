"""EvA and LR-BCD: budgets and limits hold, damage grows, fast predictions are the model's."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded, trained_models
from elasticgnn.attack import AttackBudget, Constraints, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack.archive import Archive
from elasticgnn.attack.evolution import BUSY, AttackProblem, Evolution, chance_of_change, repeated
from elasticgnn.attack.exchange import Tried, held_by, try_pairs
from elasticgnn.attack.many_graphs import one_by_one, predictor
from elasticgnn.attack.victim import Victim, call_model
from elasticgnn.operator.flipped import FlipLists

QUICK = EvolutionSettings(population=8, children=8, generations=60, screened=100)


@pytest.fixture(scope="module")
def task():
    return planted_task(num_nodes=60, seed=1)


@pytest.fixture(scope="module")
def trained(task):
    return trained_models(task, ("elastic", "gcn", "appnp", "sgc"))


@pytest.mark.parametrize("name", ["elastic", "gcn", "appnp", "sgc"])
def test_predictions_on_many_graphs_are_those_on_each(name, task, trained):
    keys = torch.randperm(59, generator=seeded(4))[:40].view(8, 5)  # pairs (0, 1 + key)
    flips = FlipLists.from_keys(keys + 1, 60)
    fast = predictor(trained[name], task)(flips)
    assert torch.equal(fast, one_by_one(trained[name], task, flips))


@pytest.mark.parametrize("name", ["elastic", "gcn", "sgc"])
def test_an_offset_is_added_to_the_outputs_before_the_class_is_taken(name, task, trained):
    flips = FlipLists.from_keys(torch.tensor([[1], [2]]), 60)
    offset = torch.arange(task.num_classes).float()
    shifted = predictor(trained[name], task, offset)(flips)
    for number, found in enumerate(shifted):
        graph = task.graph.with_edges_flipped(flips[number])
        outputs = call_model(trained[name], task.features, graph)
        assert torch.equal(found, (outputs + offset).argmax(1).byte())
    assert not torch.equal(shifted, predictor(trained[name], task)(flips))


def test_pairs_of_an_attack_around_its_target_all_have_it_at_one_end(task, trained):
    problem = AttackProblem(
        task.graph, torch.tensor([41]), task.labels, predictor(trained["gcn"], task)
    )
    settings = EvolutionSettings(4, 4, screened=60, around_targets=True)
    search = Evolution(problem, 3, settings, np.random.default_rng(0))
    keys = np.array([41 * 60 + other for other in range(50, 60)])  # whose ends are put together
    search.archive = Archive(keys, np.ones(10, np.int64))
    tried = np.stack(np.divmod(try_pairs(search, search.untouched, 60).keys, 60))
    assert (tried == 41).any(0).all()
    free = Evolution(problem, 3, replace(settings, around_targets=False), np.random.default_rng(0))
    free.archive = Archive(keys, np.ones(10, np.int64))
    tried = np.stack(np.divmod(try_pairs(free, free.untouched, 60).keys, 60))
    assert not (tried == 41).any(0).all()


def test_degrees_and_isolated_nodes_are_those_of_the_flipped_graphs(task, trained):
    problem = AttackProblem(
        task.graph, torch.arange(60), task.labels, predictor(trained["gcn"], task)
    )
    search = Evolution(problem, 40, QUICK, np.random.default_rng(0))
    edges, others = search.edges, np.setdiff1d(np.arange(1, 60), search.edges)
    keys = np.stack([np.append(search.random.permutation(edges)[:60], others[:9]) for _ in "12345"])
    keys = search.random.permuted(keys, axis=1)
    degree, isolating = search.degree_after(keys), search.isolating(keys)
    for row, flips in enumerate(keys):
        pairs = torch.from_numpy(np.stack(np.divmod(flips, 60), 1))
        graph = task.graph.with_edges_flipped(pairs)
        expected = torch.bincount(torch.cat((graph.tail, graph.head)), minlength=60).numpy()
        assert np.array_equal(degree[row], expected)
        lone = (expected[np.stack(np.divmod(flips, 60))] == 0).any(0)
        assert np.array_equal(isolating[row], lone & np.isin(flips, edges))


@pytest.mark.parametrize("name", ["elastic", "gcn"])
def test_evolution_hurts_more_than_random_flips_and_keeps_its_limits(name, task, trained):
    split, budget = planted_split(task), AttackBudget(rate=0.15)
    found = attack(task, split, budget, "eva", trained[name], seeded(3), settings=QUICK)
    noise = attack(task, split, budget, "random", None, seeded(3))
    victim = Victim(trained[name], task, split.test)
    left, graph = victim.accuracy(found.apply(task.graph)), found.apply(task.graph)
    assert left < victim.accuracy(noise.apply(task.graph)) - 0.1
    assert left == pytest.approx(1 - found.loss[-1])
    assert list(found.loss) == sorted(found.loss)
    assert len(found) == budget.flips(task.graph)
    degree = torch.bincount(torch.cat((graph.tail, graph.head)), minlength=60)
    assert int(degree.min()) >= 1


def test_same_seed_same_flips(task, trained):
    found = [
        attack(
            task,
            planted_split(task),
            AttackBudget(edges=6),
            "eva",
            trained["gcn"],
            seeded(5),
            settings=QUICK,
        ).pairs
        for _ in range(2)
    ]
    assert torch.equal(*found)


def test_repair_replaces_repetitions_and_removals_that_isolate(task, trained):
    problem = AttackProblem(
        task.graph, planted_split(task).test, task.labels, predictor(trained["gcn"], task)
    )
    search = Evolution(problem, 4, QUICK, np.random.default_rng(0))
    node = int(search.degree.argmin())
    touching = [key for key in search.edges if node in divmod(int(key), 60)]
    row = (touching + [touching[0]] * 4)[:4] if len(touching) < 4 else touching[:4]
    alive = np.ones((1, len(problem.nodes)), bool)
    fixed = search.repair(np.array([row]), alive)
    assert not repeated(fixed).any()
    assert not search.isolating(fixed).any()


def test_repair_ends_with_different_pairs_however_few_the_archive_holds(task, trained):
    search = counted(task, trained["gcn"], screened=0)
    search.archive.update(np.array([7]), np.array([3]))
    alive = np.ones((200, len(search.nodes)), bool)
    fixed = search.repair(np.full((200, 5), 7), alive)
    assert not repeated(fixed).any()


def test_more_flips_than_there_are_pairs_are_refused(task, trained):
    search = counted(task, trained["gcn"], screened=0)
    alive = np.ones((1, len(search.nodes)), bool)
    with pytest.raises(ValueError, match="budget must leave room"):
        search.repair(np.full((1, 60 * 59 // 2 + 1), 7), alive)


def test_pairs_that_seem_to_do_nothing_change_more_often():
    idle = np.array([[True, False, True, False, False]])
    chance = chance_of_change(idle, np.array([[0.4]]))
    assert chance.sum() == pytest.approx(0.4)
    np.testing.assert_allclose(chance[~idle], BUSY * chance[idle][0])
    assert chance_of_change(idle, np.array([[9.0]])).max() == 0.5


def test_repeated_marks_all_but_one():
    assert repeated(np.array([[3, 1, 3, 3], [1, 2, 3, 4]])).sum(1).tolist() == [2, 0]


def test_local_budget_holds_for_every_node(task, trained):
    settings = GradientSettings(
        block_size=600,
        epochs=15,
        fresh_epochs=8,
        samples=4,
        constraints=Constraints(node_share=0.5),
    )
    split, budget = planted_split(task), AttackBudget(rate=0.3)
    found = attack(task, split, budget, "lrbcd", trained["gcn"], seeded(0), settings=settings)
    ends = torch.cat((task.graph.tail, task.graph.head))
    allowed = torch.bincount(ends, minlength=60) // 2
    used = torch.bincount(found.pairs.flatten(), minlength=60)
    assert len(found) == budget.flips(task.graph)  # what a node may not use, others do
    assert bool((used <= allowed).all())
    victim = Victim(trained["gcn"], task, split.test)
    assert victim.accuracy(found.apply(task.graph)) < victim.accuracy(task.graph)
    free = attack(task, split, budget, "prbcd", trained["gcn"], seeded(0))
    assert bool((torch.bincount(free.pairs.flatten(), minlength=60) > allowed).any())


@pytest.mark.parametrize("limits", [Constraints(degree_test=0.004), Constraints(node_share=0.5)])
def test_limits_that_evolution_does_not_keep_are_refused(limits):
    with pytest.raises(ValueError, match="keep_last_edge alone"):
        EvolutionSettings(constraints=limits)


def counted(task, model, **options):
    """A search against `model`, and its problem."""
    problem = AttackProblem(
        task.graph, planted_split(task).test, task.labels, predictor(model, task)
    )
    settings = EvolutionSettings(population=4, children=4, generations=1, **options)
    return Evolution(problem, 5, settings, np.random.default_rng(0))


def test_what_a_pair_is_worth_is_what_returns_without_it(task, trained):
    search = counted(task, trained["gcn"])
    best = search.start().best_of(1)
    held, worth = held_by(search, best)
    for place in range(5):
        without = search.evaluate(np.delete(best.keys, place, axis=1))
        assert worth[place] == without.num_correct[0] - best.num_correct[0]
        assert (held[place] == (without.correct & ~best.correct)).all()


def test_pairs_tried_alone_hit_what_they_say(task, trained):
    search = counted(task, trained["gcn"])
    tried = try_pairs(search, search.untouched, 200)
    after = search.evaluate(tried.keys[:, None])
    assert tried.gain.max() > 0
    assert (tried.gain == search.untouched.num_correct[0] - after.num_correct).all()
    assert (tried.hits == (search.untouched.correct & ~after.correct)).all()


def test_no_pair_is_tried_that_would_isolate_a_node(task, trained):
    search = counted(task, trained["gcn"])
    leaf = int(search.degree.argmin())
    at_leaf = [key for key in search.edges if leaf in divmod(int(key), 60)]
    best = search.evaluate(np.array([at_leaf[1:]], np.int64))  # one edge of the leaf is left
    search.archive.update(np.array(at_leaf), np.ones(len(at_leaf), int))
    tried = try_pairs(search, best, 400)
    assert not np.isin(tried.keys, at_leaf).any()
    assert len(tried.keys) > 200


def test_chosen_pairs_hit_different_nodes_and_the_best_come_first():
    hits = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]], bool)
    tried = Tried(np.arange(5), hits.sum(1), hits)
    for seed in range(8):
        chosen = tried.disjoint(5, np.random.default_rng(seed))
        assert chosen.hits.sum(0).max() == 1
        assert chosen.gain[0] == 2
        assert 4 not in chosen.keys  # it hits nothing
        assert chosen.hits.any(0).sum() >= 3
    assert len(tried.disjoint(2, np.random.default_rng(0)).keys) == 2


def test_a_round_of_local_search_never_loses_and_keeps_the_limits(task, trained):
    search = counted(task, trained["gcn"], screened=100)
    now = search.start()
    before = now.num_correct.min()
    for _ in range(3):
        now = search.improve(now)
        assert now.num_correct.min() <= before
        before = now.num_correct.min()
        assert now.keys.shape == (4, 5)
        assert not repeated(now.keys).any()
        assert not search.isolating(now.keys).any()


def test_the_archive_forgets_what_hits_nothing_any_more():
    archive = Archive()
    archive.update(np.array([3, 5, 7]), np.array([1, 3, 0]))
    assert archive.keys.tolist() == [5, 3]
    archive.update(np.array([5, 9]), np.array([0, 2]))
    assert archive.keys.tolist() == [9, 3]
    assert archive.gain.tolist() == [2, 1]
    drawn = archive.recall(500, np.random.default_rng(0))
    assert (drawn == 9).sum() > 5 * (drawn == 3).sum()  # 8 times as likely
    mixed = archive.recombine(50, np.random.default_rng(0), 4)  # 9 is (2, 1), 3 is (0, 3)
    assert set(np.divmod(mixed, 4)[0]) | set(np.divmod(mixed, 4)[1]) <= {0, 1, 2, 3}
    assert (mixed // 4 < mixed % 4).all()
