"""Small parts of attacks on their own: limits of a node, candidates, the score of an edge."""

import math

import pytest
import torch

from attack.small_task import planted_split, planted_task, seeded
from elasticgnn.attack import AttackBudget, Constraints, MetattackSettings, metattack, roc_area
from elasticgnn.attack.adjacency import Flippable
from elasticgnn.attack.meta.inner import InnerTraining
from elasticgnn.attack.relaxed import random_keys
from elasticgnn.attack.simple import other_class, same_class
from elasticgnn.attack.suspicion import rank, ranked
from elasticgnn.graph import Graph


def test_a_node_takes_part_in_its_share_of_flips_and_no_more():
    graph = Graph.from_edges([(i, i + 1) for i in range(5)])
    state = Flippable(graph, Constraints(keep_last_edge=False, node_share=0.5))
    assert not state.may_flip(0, 2)  # half of degree 1 is no flip
    assert state.may_flip(1, 3)
    state.flip(1, 3)
    assert not state.may_flip(1, 4)
    assert not state.may_flip(2, 3)
    assert state.may_flip(2, 4)


def test_two_flips_per_gradient_are_taken_two_at_a_time():
    task, steps = planted_task(), []
    settings = MetattackSettings(flips_per_step=2)
    metattack(
        *(task, planted_split(task), AttackBudget(edges=4), settings, seeded(0)),
        progress=lambda done, _: steps.append(done),
    )
    assert steps == [2, 4]


def test_as_many_pairs_as_there_are_is_every_pair():
    every = [tail * 20 + head for tail in range(20) for head in range(tail + 1, 20)]
    assert random_keys(20, 190, seeded(0)).tolist() == every  # of 293 draws many are repetitions
    assert len(random_keys(20, 189, seeded(0))) < 189


def test_ends_of_unknown_class_are_of_no_kind():
    labels = torch.tensor([0, 1, -1, 0, -1])
    pairs = torch.tensor([[0, 1], [0, 3], [0, 2], [1, 2], [2, 4], [1, 3]])
    keys = pairs[:, 0] * 5 + pairs[:, 1]
    assert other_class(keys, labels).tolist() == [True, False, False, False, False, True]
    assert same_class(keys, labels).tolist() == [False, True, False, False, False, False]


def test_one_hidden_channel_is_enough():
    assert InnerTraining(hidden_channels=1).hidden_channels == 1
    with pytest.raises(ValueError, match="hidden_channels must be >= 1, got 0"):
        InnerTraining(hidden_channels=0)


def test_the_score_is_the_mean_rank_in_which_the_difference_counts_three_times():
    graph = Graph.from_edges([(i, i + 1) for i in range(6)])
    parts = torch.rand(4, 6, generator=seeded(0), dtype=torch.float64)
    names = ("difference", "proposed", "disagreement", "saturation")
    found = ranked(graph, **dict(zip(names, parts, strict=True)), label=torch.zeros(7))
    weight = torch.tensor([3, 1, 1, 1], dtype=torch.float64) / 6
    expected = sum(w * rank(part) for w, part in zip(weight, parts, strict=True))
    torch.testing.assert_close(found.score, expected)


@pytest.mark.parametrize("truth", [[True, True], [False, False]])
def test_an_area_needs_edges_of_both_kinds(truth):
    assert math.isnan(roc_area(torch.tensor([0.1, 0.2]), torch.tensor(truth)))
