"""The usual setting of attacks: which split, and how a victim is trained."""

from dataclasses import replace

import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack.evaluation import fixed_or_drawn, trained_victim
from elasticgnn.data import share_split
from elasticgnn.nn import ModelSettings
from elasticgnn.training import TrainingPlan, fit, make_model


def test_a_fixed_split_is_kept_and_nothing_is_drawn():
    task, generator = planted_task(), seeded(0)
    own = planted_split(task)
    assert fixed_or_drawn(replace(task, split=own, split_rule="fixed"), generator) is own
    assert torch.equal(generator.get_state(), seeded(0).get_state())


def test_a_split_that_is_not_fixed_is_drawn_anew_as_ten_ten_eighty():
    task, generator = planted_task(), seeded(3)
    one_of_many = replace(task, split=planted_split(task), split_rule="10-10-80")
    drawn = fixed_or_drawn(one_of_many, generator)
    expected = share_split(task.labels, seeded(3))
    for part in ("train", "val", "test"):
        assert getattr(drawn, part).tolist() == getattr(expected, part).tolist()
    assert len(drawn.test) == 0.8 * task.num_nodes
    assert not torch.equal(generator.get_state(), seeded(3).get_state())


def test_a_victim_is_trained_on_the_clean_graph_for_two_hundred_epochs():
    task = planted_task(200, 10, 40, seed=1)  # where late epochs are the best
    split, settings = planted_split(task), ModelSettings("sgc")
    victim = trained_victim(settings, task, split, seeded(0))
    expected = make_model(settings, task, generator := seeded(0))
    plan = TrainingPlan(epochs=200, ties="first")
    assert fit(expected, task, split, plan, generator).selected_epoch > 100
    for name, weights in expected.state_dict().items():
        assert torch.equal(victim.state_dict()[name], weights)
