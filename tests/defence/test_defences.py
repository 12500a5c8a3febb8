"""The rivals: their formulas against dense ones, and that they learn and can be attacked."""

import pytest
import torch
from torch import Tensor

from attack.small_task import planted_split, planted_task
from elasticgnn.attack import AttackBudget, GradientSettings, attack
from elasticgnn.attack.many_graphs import one_by_one, predictor
from elasticgnn.attack.victim import Victim
from elasticgnn.defence import (
    GPRGNN,
    RUNG,
    ConfidenceGated,
    GNNGuard,
    Jaccard,
    SoftMedian,
    fit_adversarially,
)
from elasticgnn.defence.soft_median import weighted_median
from elasticgnn.graph import Graph
from elasticgnn.kernels import native
from elasticgnn.operator.flipped import FlipLists
from elasticgnn.training import TrainingPlan, fit, make_model


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def task():
    return planted_task(num_nodes=60, seed=1)


def build(name, task):
    ends = (task.num_features, 16, task.num_classes)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        if name == "jaccard":
            return Jaccard(task.features, *ends[1:])
        kinds = {"gnnguard": GNNGuard, "softmedian": SoftMedian, "gprgnn": GPRGNN, "rung": RUNG}
        return kinds[name](*ends)


NAMES = ("rung", "jaccard", "gnnguard", "softmedian", "gprgnn")


@pytest.mark.parametrize("name", NAMES)
def test_a_defence_learns_and_is_attacked_through_its_own_gradient(name, task):
    model, split = build(name, task), planted_split(task)
    history = fit(model, task, split, TrainingPlan(epochs=60), seeded(1))
    assert history.test_accuracy > 0.6
    settings = GradientSettings(block_size=600, epochs=10, fresh_epochs=6, samples=3)
    found = attack(
        task, split, AttackBudget(rate=0.2), "prbcd", model, seeded(0), settings=settings
    )
    victim = Victim(model, task, split.test)
    assert victim.accuracy(found.apply(task.graph)) < victim.accuracy(task.graph)


@pytest.mark.parametrize("name", NAMES)
def test_predictions_on_many_graphs_are_those_on_each(name, task):
    model = build(name, task)
    fit(model, task, planted_split(task), TrainingPlan(epochs=20), seeded(1))
    keys = torch.randperm(59, generator=seeded(4))[:48].view(12, 4) + 1  # pairs (0, key)
    flips = FlipLists.from_keys(keys, 60)
    assert native is None or model.predict_flipped(task) is not None
    assert torch.equal(predictor(model, task)(flips), one_by_one(model, task, flips))


@pytest.mark.parametrize("name", NAMES)
def test_weighted_graphs_are_judged_one_by_one(name, task):
    model, graph = build(name, task).eval(), task.graph
    weighted = task.with_graph(graph.with_weight(torch.full_like(graph.weight, 0.5)))
    assert model.predict_flipped(weighted) is None
    flips = FlipLists.from_keys(torch.tensor([[60 * 58 + 59]]), 60)
    assert predictor(model, weighted)(flips).shape == (1, 60)


def dense_rung(model, x, graph):
    """The published step with dense matrices."""
    a = torch.zeros(len(x), len(x))
    a[graph.tail, graph.head] = a[graph.head, graph.tail] = 1.0
    d = a.sum(1) + 1
    f = x
    for _ in range(model.K):
        u = f / d.sqrt()[:, None]
        z = ((u[:, None] - u[None]).square().sum(2) + 0.01).sqrt()
        z = z.sqrt() if model.double_root else z
        w = (1 / (2 * z) - 1 / (2 * model.gamma)).clamp(min=0) * a
        q = (w / d[:, None]).sum(1)
        mixed = (w / (d.sqrt()[:, None] * d.sqrt())) @ f
        f = (mixed + model.fidelity * x) / (q + model.fidelity)[:, None]
    return f


@pytest.mark.parametrize("double_root", [False, True])
def test_rung_is_its_formula_in_both_readings(double_root, task):
    model = RUNG(task.num_features, 8, 3, gamma=1.0, double_root=double_root)
    x = 3 * torch.randn(60, 3, generator=seeded(0))
    torch.testing.assert_close(
        model.smooth(x, task.graph, None), dense_rung(model, x, task.graph), rtol=1e-4, atol=1e-5
    )


def test_detached_rung_has_the_same_values_and_another_gradient(task):
    plain, detached = RUNG(30, 8, 3), RUNG(30, 8, 3, detached=True)
    x = torch.randn(60, 3, generator=seeded(0), requires_grad=True)
    values = [model.smooth(x, task.graph, None) for model in (plain, detached)]
    torch.testing.assert_close(*values)
    one, other = (torch.autograd.grad(v.square().sum(), x, retain_graph=True)[0] for v in values)
    assert not torch.allclose(one, other)


def test_jaccard_ignores_edges_without_a_common_word():
    words = torch.tensor([[1.0, 0, 0], [1, 1, 0], [0, 0, 1]])
    model = Jaccard(words, 4, 2)
    graph = Graph.from_edges([(0, 1), (1, 2)])
    assert model.cleaned(graph).weight.tolist() == [1, 0]


def test_weighted_median_by_hand():
    rows = torch.tensor([[1.0], [5.0], [9.0]])
    to, sender = torch.tensor([0, 0, 0, 1, 2]), torch.tensor([0, 1, 2, 1, 2])
    even = weighted_median(rows, to, sender, torch.ones(5))
    assert even.flatten().tolist() == [5, 5, 9]
    heavy = weighted_median(rows, to, sender, torch.tensor([1.0, 1, 5, 1, 1]))
    assert float(heavy[0]) == 9


def first_at_half(value: Tensor, strength: Tensor) -> float:
    """The definition: values ascending, the first at which half of the weight is reached."""
    order = torch.argsort(value)
    reached = strength[order].double().cumsum(0)
    return float(value[order][int((reached >= reached[-1] / 2 * (1 - 1e-6)).nonzero()[0])])


@pytest.mark.parametrize("seed", range(5))
def test_weighted_median_is_its_definition_with_ties_and_weights_of_zero(seed):
    generator, size = seeded(seed), 30
    rows = torch.randint(0, 4, (size, 3), generator=generator).float()
    there = torch.rand(size, size, generator=generator) < 0.2
    sender, to = (there | torch.eye(size, dtype=torch.bool)).nonzero().T
    strength = torch.randint(0, 3, (len(to),), generator=generator) / 2 + (to == sender)
    found = weighted_median(rows, to, sender, strength)
    for node in range(size):
        mine = to == node
        for column in range(3):
            expected = first_at_half(rows[sender[mine], column], strength[mine])
            assert float(found[node, column]) == expected


def test_adversarial_training_leaves_a_model_that_works(task):
    model, split = build("gprgnn", task), planted_split(task)
    fit_adversarially(model, task, split, TrainingPlan(epochs=30), seeded(0))
    assert Victim(model, task, split.test).accuracy(task.graph) > 0.5


def test_the_gate_uses_the_graph_only_where_the_backbone_is_unsure(task):
    model = make_model("elastic", task, seeded(0))
    fit(model, task, planted_split(task), TrainingPlan(epochs=40), seeded(0))
    alone = model.logits(task.features).detach()
    assert torch.equal(ConfidenceGated(model, 0.0)(task.features, task.graph), alone)
    torch.testing.assert_close(
        ConfidenceGated(model, 1.0)(task.features, task.graph), model(task.features, task.graph)
    )
    sure = float(alone.softmax(1).amax(1).median())
    half = ConfidenceGated(model, sure).eval()
    changed = (half(task.features, task.graph) != alone).any(1)
    assert 0 < int(changed.sum()) <= int(half.is_unsure(alone).sum()) < 60
    keys = torch.randperm(59, generator=seeded(4))[:40].view(8, 5) + 1
    flips = FlipLists.from_keys(keys, 60)
    assert torch.equal(predictor(half, task)(flips), one_by_one(half, task, flips))
    with pytest.raises(ValueError, match="threshold must be in"):
        ConfidenceGated(model, 1.5)
