"""PRBCD, GRBCD and PGD through real models: gradients, budgets, and damage."""

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded, trained_models
from elasticgnn.attack import AttackBudget, Constraints, GradientSettings, Retraining, attack
from elasticgnn.attack.budget_projection import project_to_budget, within_node_budget
from elasticgnn.attack.relaxed import Block, key_pairs, random_keys
from elasticgnn.attack.victim import NoEdgeGradientError, Victim
from elasticgnn.graph.keys import edge_keys
from elasticgnn.training import TrainingPlan, fit, make_model

MODELS = ("elastic", "gcn", "appnp")
QUICK = GradientSettings(block_size=600, epochs=25, fresh_epochs=15, samples=6)


@pytest.fixture(scope="module")
def task():
    return planted_task(num_nodes=60, seed=1)


@pytest.fixture(scope="module")
def trained(task):
    return trained_models(task, MODELS)


def accuracy(model, task, graph):
    return Victim(model, task, planted_split(task).test).accuracy(graph)


@pytest.mark.parametrize("name", MODELS)
def test_edge_gradient_agrees_with_finite_differences(name, task, trained):
    model = trained[name].double()
    double = planted_task(num_nodes=60, seed=1)
    features = double.features.to(torch.float64)
    object.__setattr__(double, "features", features)
    victim = Victim(model, double, planted_split(task).test)
    edges = edge_keys(task.graph)[:3]
    block = Block.over(task.graph, torch.cat((edges, random_keys(60, 9, seeded(2)))).unique())
    share = torch.full((len(block.keys),), 0.3, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(victim.loss(block.relax(share)), share)
    for k in range(len(share)):
        step = torch.zeros_like(share)
        step[k] = 1e-6
        with torch.no_grad():
            rise = victim.loss(block.relax(share + step)) - victim.loss(block.relax(share - step))
        assert float(gradient[k]) == pytest.approx(float(rise) / 2e-6, rel=1e-4, abs=1e-8)
    model.float()


@pytest.mark.parametrize(
    ("name", "method"),
    [("elastic", "prbcd"), ("gcn", "prbcd"), ("gcn", "grbcd"), ("gcn", "pgd"), ("appnp", "grbcd")],
)
def test_adaptive_attack_hurts_more_than_random_flips(name, method, task, trained):
    budget, split = AttackBudget(rate=0.25), planted_split(task)
    found = attack(task, split, budget, method, trained[name], seeded(3), settings=QUICK)
    noise = attack(task, split, budget, "random", None, seeded(3))
    assert len(found) <= budget.flips(task.graph)
    hurt = accuracy(trained[name], task, found.apply(task.graph))
    assert hurt < accuracy(trained[name], task, noise.apply(task.graph)) - 0.05
    assert found.loss[-1] > found.loss[0]


@pytest.mark.parametrize("loss", ["tanh_margin", "masked_cross_entropy", "cross_entropy"])
def test_every_loss_leads_downhill(loss, task, trained):
    settings = GradientSettings(loss=loss, block_size=600, epochs=15, fresh_epochs=10, samples=3)
    split, model = planted_split(task), trained["gcn"]
    found = attack(
        task, split, AttackBudget(rate=0.2), "prbcd", model, seeded(0), settings=settings
    )
    assert accuracy(model, task, found.apply(task.graph)) < accuracy(model, task, task.graph)


def test_one_node_is_attacked_through_its_own_edges(task, trained):
    model, node = trained["gcn"], torch.tensor([50])
    settings = GradientSettings(
        block_size=200, epochs=20, samples=4, around_targets=True, fresh_epochs=0
    )
    found = attack(
        task,
        planted_split(task),
        AttackBudget(edges=6),
        "prbcd",
        model,
        seeded(0),
        settings=settings,
        targets=node,
    )
    assert bool((found.pairs == 50).any(1).all())
    assert 0 < len(found) <= 6
    victim = Victim(model, task, node)
    assert victim.loss(found.apply(task.graph)) > victim.loss(task.graph) + 0.2


def test_poisoning_follows_the_victim_as_it_retrains(task, trained):
    settings = GradientSettings(
        block_size=600, epochs=12, fresh_epochs=8, samples=3, poisoning=Retraining(steps=2)
    )
    model = make_model("gcn", task, seeded(0))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    split = planted_split(task)
    found = attack(
        task, split, AttackBudget(rate=0.25), "prbcd", model, seeded(0), settings=settings
    )
    assert any(not torch.equal(before[name], value) for name, value in model.state_dict().items())
    poisoned = make_model("gcn", task, seeded(5))
    plan = TrainingPlan(epochs=60)
    after = fit(poisoned, found.apply_to(task), split, plan, seeded(6)).test_accuracy
    clean = fit(make_model("gcn", task, seeded(5)), task, split, plan, seeded(6)).test_accuracy
    assert after < clean


def test_relaxed_graph_at_whole_shares_is_the_flipped_graph(task):
    keys = torch.cat((edge_keys(task.graph)[5:9], random_keys(60, 20, seeded(4)))).unique()
    block = Block.over(task.graph, keys)
    relaxed = block.relax(torch.ones(len(keys), dtype=torch.float64))
    flipped = task.graph.with_edges_flipped(key_pairs(keys, 60))
    kept = relaxed.weight > 0
    assert torch.equal(relaxed.tail[kept], flipped.tail)
    assert torch.equal(relaxed.head[kept], flipped.head)


def test_random_keys_are_distinct_upper_pairs():
    keys = random_keys(50, 300, seeded(0))
    pairs = key_pairs(keys, 50)
    assert len(keys.unique()) == len(keys) == 300
    assert bool((pairs[:, 0] < pairs[:, 1]).all())
    assert len(random_keys(10, 1000, seeded(0))) == 45


@pytest.mark.parametrize("budget", [0.0, 3.0, 100.0])
def test_projection_is_feasible_and_nearest(budget):
    share = torch.randn(40, generator=seeded(1), dtype=torch.float64)
    point = project_to_budget(share, budget)
    assert bool(((point >= 0) & (point <= 1)).all())
    assert float(point.sum()) <= budget + 1e-9
    other = torch.rand(200, 40, generator=seeded(2), dtype=torch.float64)
    other *= (budget / other.sum(1, keepdim=True)).clamp(max=1)
    # the projection's variational inequality
    assert float(((other - point) @ (share - point)).max()) <= 1e-9


def test_attack_on_a_model_that_ignores_the_graph_finds_nothing(task):
    model = make_model("mlp", task, seeded(0))
    with pytest.raises(NoEdgeGradientError, match="victim must hand back a gradient of its edges"):
        attack(
            task,
            planted_split(task),
            AttackBudget(rate=0.1),
            "prbcd",
            model,
            seeded(0),
            settings=QUICK,
        )


def test_gradient_method_without_victim_is_refused(task):
    with pytest.raises(ValueError, match="victim must be a trained model"):
        attack(task, planted_split(task), AttackBudget(rate=0.1), "prbcd", None, seeded(0))


def test_settings_of_another_method_are_refused(task):
    with pytest.raises(ValueError, match="settings must be MetattackSettings"):
        attack(
            task,
            planted_split(task),
            AttackBudget(rate=0.1),
            "metattack",
            None,
            seeded(0),
            settings=Constraints(),
        )


@pytest.mark.parametrize("name", ["elastic", "appnp"])
def test_torch_geometrics_own_attack_runs_against_our_models(name, task, trained):
    from torch_geometric.contrib.nn import PRBCDAttack

    edge_index, _ = task.graph.to_edge_index()
    model, x = trained[name], task.features.to_dense()
    torch.manual_seed(0)  # torch_geometric's attack draws from the global generator
    theirs = PRBCDAttack(
        model, block_size=600, epochs=20, epochs_resampling=15, loss="tanh_margin", log=False
    )
    test = planted_split(task).test
    attacked, flipped = theirs.attack(x, edge_index, task.labels, budget=40, idx_attack=test)
    assert 0 < flipped.shape[1] <= 40
    clean, hurt = (
        float((model(x, index)[test].argmax(1) == task.labels[test]).float().mean())
        for index in (edge_index, attacked)
    )
    assert hurt < clean


def test_more_restarts_never_hurt_the_attacker_and_leave_the_victim_as_it_was(task, trained):
    from dataclasses import replace

    split, budget, model = planted_split(task), AttackBudget(rate=0.2), trained["gcn"]
    short = replace(QUICK, epochs=4, fresh_epochs=2, samples=2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    left = []
    for restarts in (1, 4):
        settings = replace(short, restarts=restarts)
        found = attack(task, split, budget, "prbcd", model, seeded(3), settings=settings)
        left.append(accuracy(model, task, found.apply(task.graph)))
    assert left[1] <= left[0]
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_what_one_node_may_not_use_goes_to_the_others():
    # four pairs at node 0, which may have one flip, and three pairs elsewhere
    pairs = torch.tensor([[0, 1], [0, 2], [0, 3], [0, 4], [5, 6], [7, 8], [9, 10]])
    budget = torch.tensor([1, *[5] * 10])
    share = torch.tensor([0.9, 0.9, 0.9, 0.9, 0.5, 0.5, 0.5], dtype=torch.float64)
    point = project_to_budget(share, 2.0, lambda inside: within_node_budget(inside, pairs, budget))
    assert float(point.sum()) == pytest.approx(2.0)
    assert float(point[:4].sum()) == pytest.approx(1.0)


def test_every_draw_uses_the_budget_up(task, trained):
    """One step from nothing leaves shares far below 1: draws of them alone would be too few."""
    settings = GradientSettings(block_size=600, epochs=1, fresh_epochs=0, samples=3)
    budget = AttackBudget(rate=0.2)
    found = attack(
        task, planted_split(task), budget, "prbcd", trained["gcn"], seeded(0), settings=settings
    )
    assert len(found) == budget.flips(task.graph)
