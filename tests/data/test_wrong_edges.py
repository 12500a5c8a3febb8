"""Wrong edges: as many as asked for, between classes, new, and nested for growing shares."""

import hashlib
from itertools import pairwise

import pytest
import torch

from elasticgnn.data import add_wrong_edges, block_model, load


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def edge_set(task):
    return set(zip(task.graph.tail.tolist(), task.graph.head.tolist(), strict=True))


def test_cora_with_forty_percent_wrong_edges():
    clean = load("cora")
    task = add_wrong_edges(clean, 0.4, seeded())
    added = edge_set(task) - edge_set(clean)
    assert edge_set(clean) < edge_set(task)
    assert len(added) == round(0.4 * 5278)
    assert all(task.labels[a] != task.labels[b] for a, b in added)


def test_a_larger_share_keeps_the_edges_of_a_smaller_one():
    clean = load("cora")
    sets = [edge_set(add_wrong_edges(clean, share, seeded(3))) for share in (0.0, 0.1, 0.5, 1.2)]
    assert sets[0] == edge_set(clean)
    assert all(small < large for small, large in pairwise(sets))


def test_a_seed_gives_the_edges_that_it_always_gave():
    """Stored results name a seed: beyond the first block of candidates too."""
    clean = load("cora")
    added = sorted(edge_set(add_wrong_edges(clean, 1.2, seeded())) - edge_set(clean))
    digest = hashlib.sha256(repr(added).encode()).hexdigest()
    assert digest == "7733fed9dda56fa7a547948265f3a5d73bfc1484b9da0554eae92de802b2892a"


def test_the_note_says_what_was_done():
    task = block_model([20, 20], seeded(), inside=0.5)
    assert "wrong edges added" in add_wrong_edges(task, 0.1, seeded()).notes[-1]


def test_more_edges_than_free_pairs_are_refused():
    task = block_model([4, 4], seeded(), inside=1.0)
    with pytest.raises(ValueError, match="half of the free pairs"):
        add_wrong_edges(task, 5.0, seeded())


@pytest.mark.parametrize("share", [-0.1, float("nan"), float("inf")])
def test_impossible_shares_are_refused(share):
    with pytest.raises(ValueError, match="share must be a finite number >= 0"):
        add_wrong_edges(load("cora"), share, seeded())
