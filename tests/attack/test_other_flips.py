"""Labels and features flipped: as many as allowed, where allowed, and to some effect."""

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack.other_flips import flip_features, flip_labels
from elasticgnn.attack.victim import Victim
from elasticgnn.training import TrainingPlan, fit, make_model


def test_only_training_labels_change_each_to_another_class():
    task = planted_task()
    split = planted_split(task)
    flipped = flip_labels(task, split, 0.5, seeded(0))
    changed = (flipped.labels != task.labels).nonzero().flatten()
    assert len(changed) == len(split.train) // 2
    assert bool(torch.isin(changed, split.train).all())
    assert flip_labels(task, split, 0.0, seeded(0)).labels.tolist() == task.labels.tolist()
    with pytest.raises(ValueError, match="share must be in"):
        flip_labels(task, split, 1.5, seeded(0))


@pytest.mark.parametrize("name", ["mlp", "elastic"])
def test_flipped_features_hurt_and_stay_within_budget_and_nodes(name):
    task = planted_task()
    split, model = planted_split(task), make_model(name, task, seeded(0))
    fit(model, task, split, TrainingPlan(epochs=40), seeded(1))
    hurt = flip_features(task, split.test, 40, model)
    changed = hurt.features.to_dense() != task.features.to_dense()
    assert 0 < int(changed.sum()) <= 40
    assert not bool(changed[split.train].any())
    before = Victim(model, task, split.test).accuracy(task.graph)
    assert Victim(model, hurt, split.test).accuracy(task.graph) < before


def test_features_that_are_not_bits_are_refused():
    task = planted_task()
    model = make_model("mlp", task, seeded(0))
    half = type(task.features).from_dense(task.features.to_dense() / 2)
    object.__setattr__(task, "features", half)
    with pytest.raises(ValueError, match="features must be 0 or 1"):
        flip_features(task, torch.tensor([3]), 2, model)
