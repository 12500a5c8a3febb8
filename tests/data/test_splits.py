"""Splits: their sizes, their fairness to small classes, and that only the generator decides."""

import pytest
import torch

from elasticgnn.data import block_model, paper_split, per_class_split, planetoid_split, share_split

LABELS = torch.arange(3).repeat_interleave(torch.tensor([700, 600, 500]))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def count(labels, nodes):
    return torch.bincount(labels[nodes], minlength=3).tolist()


def test_planetoid_split_has_twenty_per_class_then_500_and_1000():
    split = planetoid_split(LABELS, seeded())
    assert count(LABELS, split.train) == [20, 20, 20]
    assert split.sizes == (60, 500, 1000)


def test_per_class_split_leaves_the_rest_for_testing():
    split = per_class_split(LABELS, seeded())
    assert count(LABELS, split.train) == [20, 20, 20]
    assert count(LABELS, split.val) == [30, 30, 30]
    assert sum(split.sizes) == len(LABELS)


def test_share_split_takes_tenths_of_each_class():
    split = share_split(LABELS, seeded())
    assert count(LABELS, split.train) == [70, 60, 50]
    assert count(LABELS, split.val) == [70, 60, 50]
    assert sum(split.sizes) == len(LABELS)


def test_share_split_gives_the_smallest_class_a_training_node():
    labels = torch.tensor([0] * 50 + [1])
    assert 50 in share_split(labels, seeded()).train.tolist()


@pytest.mark.parametrize("draw", [planetoid_split, per_class_split, share_split])
def test_same_seed_same_split_and_other_seed_other_split(draw):
    assert torch.equal(draw(LABELS, seeded(1)).train, draw(LABELS, seeded(1)).train)
    assert not torch.equal(draw(LABELS, seeded(1)).train, draw(LABELS, seeded(2)).train)


@pytest.mark.parametrize("draw", [planetoid_split, per_class_split, share_split])
def test_unlabelled_nodes_are_in_no_part(draw):
    labels = LABELS.clone()
    labels[::20] = -1
    split = draw(labels, seeded())
    for nodes in (split.train, split.val, split.test):
        assert bool((labels[nodes] >= 0).all())


def test_every_node_is_drawn_sooner_or_later():
    drawn = torch.cat(
        [per_class_split(LABELS[::10], seeded(s), train_per_class=5).train for s in range(200)]
    )
    assert len(drawn.unique()) == len(LABELS[::10])


@pytest.mark.parametrize(
    ("labels", "draw", "message"),
    [
        (LABELS[:1000], planetoid_split, "must leave 1500 nodes"),
        (torch.tensor([0, 0, 1]), per_class_split, "must have 20 nodes to draw, got 1"),
        (torch.tensor([0, 0, -1]), share_split, "at least 2 classes, got 1"),
        (torch.tensor([-1, -1]), share_split, "at least 2 classes, got 0"),
    ],
)
def test_labels_that_do_not_suffice_are_refused(labels, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(labels, seeded())


def test_a_number_is_no_generator():
    with pytest.raises(ValueError, match=r"generator must be a torch.Generator, got int"):
        share_split(LABELS, 0)


def test_paper_split_follows_the_rule_of_the_task():
    task = block_model([50, 50], seeded(), inside=0.1)
    assert paper_split(task, seeded()).sizes == (10, 10, 80)


@pytest.mark.parametrize(
    ("nodes", "train", "val", "sizes"),
    [(7, 0.5, 0.2, (8, 2, 4)), (8, 0.3, 0.3, (4, 4, 8)), (9, 0.3, 0.2, (6, 4, 8))],
)
def test_shares_are_rounded_to_the_nearest_whole_node(nodes, train, val, sizes):
    labels = torch.arange(2).repeat_interleave(nodes)
    assert share_split(labels, seeded(), train=train, val=val).sizes == sizes


def test_shares_are_rounded_to_the_nearest_node():
    labels = torch.arange(2).repeat_interleave(torch.tensor([16, 13]))  # 1.6 and 1.3 nodes
    split = share_split(labels, seeded())
    assert count(labels, split.train)[:2] == [2, 1]
    assert count(labels, split.val)[:2] == [2, 1]


@pytest.mark.parametrize(
    ("train", "val"), [(0.0, 0.1), (1.0, 0.0), (1.5, 0.0), (0.5, -0.1), (0.1, 1.2), (0.6, 0.4)]
)
def test_shares_that_leave_no_rest_are_refused(train, val):
    with pytest.raises(ValueError, match="shares that leave a rest"):
        share_split(LABELS, seeded(), train=train, val=val)


def test_a_share_of_nothing_for_validation_is_nothing():
    assert share_split(LABELS, seeded(), train=0.9, val=0.0).sizes == (1620, 0, 180)


def test_a_class_without_nodes_does_not_count():
    labels = torch.tensor([0, 2]).repeat_interleave(60)
    assert per_class_split(labels, seeded()).sizes == (40, 60, 20)
