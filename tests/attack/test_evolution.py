"""EvA and LR-BCD: budgets and limits hold, damage grows, fast predictions are the model's."""

import numpy as np
import pytest
import torch

from attack.small_task import planted_split, planted_task
from elasticgnn.attack import AttackBudget, Constraints, EvolutionSettings, GradientSettings, attack
from elasticgnn.attack.evolution import Aim, Evolution, repeated
from elasticgnn.attack.many_graphs import one_by_one, predictor
from elasticgnn.attack.victim import Victim
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.training import TrainingPlan, fit, make_model

QUICK = EvolutionSettings(population=8, children=8, generations=60)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def task():
    return planted_task(num_nodes=60, seed=1)


@pytest.fixture(scope="module")
def trained(task):
    models = {}
    for name in ("elastic", "gcn", "appnp", "sgc"):
        models[name] = make_model(name, task, seeded(0))
        fit(models[name], task, planted_split(task), TrainingPlan(epochs=60), seeded(1))
    return models


@pytest.mark.parametrize("name", ["elastic", "gcn", "appnp", "sgc"])
def test_predictions_on_many_graphs_are_those_on_each(name, task, trained):
    keys = torch.randperm(59, generator=seeded(4))[:40].view(8, 5)  # pairs (0, 1 + key)
    flips = FlipLists.from_keys(keys + 1, 60)
    fast = predictor(trained[name], task)(flips)
    assert torch.equal(fast, one_by_one(trained[name], task, flips))


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
    aim = Aim(task.graph, planted_split(task).test, task.labels, predictor(trained["gcn"], task))
    search = Evolution(aim, 4, QUICK, np.random.default_rng(0))
    node = int(search.degree.argmin())
    touching = [key for key in search.edges if node in divmod(int(key), 60)]
    row = (touching + [touching[0]] * 4)[:4] if len(touching) < 4 else touching[:4]
    alive = np.ones((1, len(aim.nodes)), bool)
    fixed = search.repair(np.array([row]), alive)
    assert not repeated(fixed).any()
    assert not search.isolating(fixed).any()


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
    assert len(found) > 5
    assert bool((used <= allowed).all())
    victim = Victim(trained["gcn"], task, split.test)
    assert victim.accuracy(found.apply(task.graph)) < victim.accuracy(task.graph)
    free = attack(task, split, budget, "prbcd", trained["gcn"], seeded(0))
    assert bool((torch.bincount(free.pairs.flatten(), minlength=60) > allowed).any())


@pytest.mark.parametrize("limits", [Constraints(degree_test=0.004), Constraints(node_share=0.5)])
def test_limits_that_evolution_does_not_keep_are_refused(limits):
    with pytest.raises(ValueError, match="keep_last_edge alone"):
        EvolutionSettings(constraints=limits)
