"""Ranking edges: the score finds inserted edges, and its measures of quality are right."""

from dataclasses import replace

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import (
    AttackBudget,
    attack,
    mean_scores,
    precision_at,
    roc_area,
    score_edges,
)
from elasticgnn.attack.number_suspicion import score_number_edges
from elasticgnn.attack.suspicion import rank
from elasticgnn.data import NodeTask
from elasticgnn.data.homophily import homophily
from elasticgnn.graph import Graph
from elasticgnn.nn import ModelSettings, build_model
from elasticgnn.training import TrainedModel, TrainingPlan, fit, make_model, trained_on


@pytest.fixture(scope="module")
def noisy():
    task = planted_task(num_nodes=120, num_features=60, seed=5)
    split = planted_split(task)
    found = attack(task, split, AttackBudget(rate=0.15), "dice", None, seeded(1))
    return found.apply_to(task), found.inserted(task.graph)


def trained(task, seed):
    model = make_model(ModelSettings("elastic", lambda1=1.0), task, seeded(seed))
    fit(model, task, task.split, TrainingPlan(epochs=60), seeded(seed))
    return model


def test_inserted_edges_score_higher(noisy):
    task, inserted = noisy
    parts = [score_edges(trained(task, seed), task, task.split.train) for seed in (0, 1)]
    for part in parts:
        assert roc_area(part.score, inserted) > 0.8
    mean = mean_scores(parts)
    assert roc_area(mean.score, inserted) > 0.8
    assert precision_at(mean.score, inserted, int(inserted.sum())) > float(inserted.double().mean())


def test_saturation_is_a_share_and_difference_is_what_the_edge_bridges(noisy):
    task, _ = noisy
    model = trained(task, 0)
    scores = score_edges(model, task)
    assert 0 <= float(scores.saturation.min()) <= float(scores.saturation.max()) <= 1 + 1e-9
    logits = model(task.features, task.graph).double().detach()
    expected = task.graph.difference(logits).norm(dim=1)
    torch.testing.assert_close(scores.difference, expected, rtol=1e-3, atol=1e-4)


def test_dropping_removes_exactly_the_worst_edges(noisy):
    task, _ = noisy
    scores = score_edges(trained(task, 0), task)
    graph = scores.without_worst(7)
    assert graph.num_edges == task.graph.num_edges - 7
    worst = scores.order()[:7]
    gone = set(zip(task.graph.tail[worst].tolist(), task.graph.head[worst].tolist(), strict=True))
    assert not gone & set(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    with pytest.raises(ValueError, match="drop must be in"):
        scores.without_worst(task.graph.num_edges + 1)


def test_rank_counts_ties_half():
    assert rank(torch.tensor([3.0, 1.0, 3.0, 0.0])).tolist() == [0.75, 0.375, 0.75, 0.125]


def test_roc_area_is_the_chance_of_right_order():
    score = torch.rand(60, generator=seeded(0)).round(decimals=1).double()
    truth = torch.rand(60, generator=seeded(1)) < 0.3
    wins = (score[truth][:, None] > score[~truth]).double()
    ties = (score[truth][:, None] == score[~truth]).double()
    assert roc_area(score, truth) == pytest.approx(float((wins + ties / 2).mean()))
    assert roc_area(score, torch.zeros(60, dtype=torch.bool)) != roc_area(score, truth)


def test_precision_counts_the_true_among_the_highest():
    score = torch.tensor([0.9, 0.8, 0.1, 0.7])
    assert precision_at(score, torch.tensor([True, False, True, True]), 3) == pytest.approx(2 / 3)


def test_any_model_can_be_asked_by_its_outputs(noisy):
    task, inserted = noisy
    model = make_model(ModelSettings("gcn"), task, seeded(0))
    fit(model, task, task.split, TrainingPlan(epochs=60), seeded(0))
    scores = score_edges(model, task, task.split.train)
    assert roc_area(scores.score, inserted) > 0.7
    assert (scores.saturation == 0).all()


def test_saturation_is_a_share_with_the_l1_norm_too(noisy):
    task, _ = noisy
    model = make_model(ModelSettings("elastic", lambda1=0.1, norm="l1"), task, seeded(0))
    scores = score_edges(model, task)
    assert 0.9 < float(scores.saturation.max()) <= 1 + 1e-6


def test_homophily_is_compared_with_chance(noisy):
    task, _ = noisy
    within, chance = homophily(task)
    assert within > chance + 0.2
    mixed = replace(task, labels=task.labels[torch.randperm(len(task.labels), generator=seeded(0))])
    within, chance = homophily(mixed)
    assert abs(within - chance) < 0.1


def number_model(lambda1):
    """An ElasticGNN of numbers whose backbone says each node's one feature."""
    settings = ModelSettings(num_layers=1, dropout=0.0, lambda1=lambda1, lambda2=0.5, steps=20)
    model = build_model(settings, 1, 1, seeded(0)).eval()
    with torch.no_grad():
        model.backbone.first.weight.fill_(1.0)
        model.backbone.first.bias.zero_()
    return TrainedModel(model, settings, (), 1, unit=(100.0, 10.0))


def test_numbers_that_an_edge_should_not_join_are_found():
    # two cliques of unequal numbers, joined by one edge
    pairs = [(a + 6 * k, b + 6 * k) for k in (0, 1) for a in range(6) for b in range(a)]
    graph = Graph.from_edges([*pairs, (2, 8)])
    x = torch.tensor([[float(k >= 6)] for k in range(12)])
    nothing = torch.full((12,), -1)
    values = torch.full((12,), torch.nan, dtype=torch.float64)
    task = NodeTask("numbers", graph, x, nothing, (), values=values)
    wrong = int(((graph.tail == 2) & (graph.head == 8)).nonzero())
    scores = score_number_edges(number_model(1.0), task)
    assert int(scores.order()[0]) == wrong == int(scores.saturation.argmax())
    assert float(scores.saturation[wrong]) == pytest.approx(1.0, abs=1e-6)
    assert float(scores.proposed[wrong]) == pytest.approx(10.0)  # one deviation
    assert 0 < float(scores.difference[wrong]) < 10.0  # propagation has narrowed it
    assert scores.without_worst(1).num_edges == graph.num_edges - 1
    values[2] = 500.0
    scores = score_number_edges(number_model(1.0), replace(task, values=values))
    assert float(scores.value[2]) == 500.0
    touching = (graph.tail == 2) | (graph.head == 2)
    assert float(scores.difference[touching].min()) > float(scores.difference[~touching].max())


def test_a_model_of_classes_is_no_model_of_numbers(noisy):
    task, _ = noisy
    made = trained_on(task, trained(task, 0), ModelSettings("elastic", lambda1=1.0))
    with pytest.raises(ValueError, match="must have been trained with --target number"):
        score_number_edges(made, task)
